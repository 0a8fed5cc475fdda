"""FastAPI: / answers, /slow takes a second, /events sends one event and stays open."""

import asyncio

import fastapi
from fastapi.responses import PlainTextResponse, StreamingResponse

app = fastapi.FastAPI()


@app.get('/', response_class=PlainTextResponse)
async def hello():
    return 'hello from fastapi'


@app.get('/slow', response_class=PlainTextResponse)
async def slow():
    await asyncio.sleep(1)
    return 'slow'


@app.get('/events')
async def events():
    async def sent():
        yield 'data: first\n\n'
        await asyncio.Event().wait()

    return StreamingResponse(sent(), media_type='text/event-stream')
