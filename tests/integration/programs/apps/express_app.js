// Express: / answers, /slow takes a second.
const express = require('express');

const app = express();
app.get('/', (request, response) => response.send('hello from express'));
app.get('/slow', (request, response) => setTimeout(() => response.send('slow'), 1000));
app.listen(process.env.PORT, '127.0.0.1', () => console.log(`express listens on ${process.env.PORT}`));
