"""websockets: each message comes back."""

import asyncio
import os

import websockets


async def echo(socket):
    print('a socket is open', flush=True)
    async for message in socket:
        await socket.send(message)


async def main():
    async with websockets.serve(echo, '127.0.0.1', int(os.environ['PORT'])):
        await asyncio.Event().wait()


asyncio.run(main())
