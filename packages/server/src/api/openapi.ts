/** The routes for machines. A test compares it with the routes that there are. */
const error = {
  description: 'What went wrong, and whether trying again can help.',
  content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
}

const error408 = {
  ...error,
  description: 'The request has not arrived in time. The connection is closed.',
}

const json = (description: string, schema: object = { type: 'object' }): object => ({
  description,
  content: { 'application/json': { schema } },
})

const query = (name: string, description: string, schema: object): object => ({
  name,
  in: 'query',
  description,
  schema,
})
const header = (name: string, description: string, schema: object): object => ({
  name,
  in: 'header',
  description,
  schema,
})
const path = (name: string, description: string): object => ({
  name,
  in: 'path',
  required: true,
  description,
  schema: { type: 'string' },
})

const milliseconds = { type: 'integer', minimum: 0 }
const ref = (name: string): object => ({ $ref: `#/components/schemas/${name}` })
const requestHeaders = [
  header(
    'X-Request-Id',
    'Names the request, so that it can be cancelled while it waits. Whoever knows it can do that: without it the request gets an id that cannot be guessed.',
    {
      type: 'string',
      maxLength: 128,
    },
  ),
  header(
    'X-Deadline-Ms',
    "The client's own limit; the smaller of it and the server's counts.",
    milliseconds,
  ),
]
const wait = query('wait', 'Milliseconds to wait for the result.', milliseconds)

export const openApi = {
  openapi: '3.1.0',
  info: {
    title: 'Heddle',
    version: '0.1.0',
    description: 'Jobs over HTTP. A POST is JSON and says so, also without a body.',
  },
  paths: {
    '/jobs': {
      get: { summary: 'The jobs', responses: { 200: json('The jobs and their stages.') } },
    },
    '/jobs/{name}': {
      post: {
        summary: 'Submit work',
        parameters: [
          path('name', 'A name that GET /jobs lists.'),
          wait,
          query('index', 'Which result to wait for.', { type: 'integer', maximum: 0, default: 0 }),
          query('slot', 'A newer request of this slot takes the place of an older one.', {
            type: 'string',
          }),
          query('priority', '0 interactive, 1 usual, 3 prefetch.', { enum: [0, 1, 3], default: 1 }),
          query('force', 'Compute again what is stored.', { type: 'boolean', default: false }),
          ...requestHeaders,
        ],
        requestBody: { content: { 'application/json': { schema: {} } } },
        responses: {
          200: json('The result.', ref('Result')),
          202: json('Acknowledged: it survives a crash of the server.', ref('Pending')),
          408: error408,
          default: error,
        },
      },
    },
    '/results/{handle}/{index}': {
      get: {
        summary: 'Fetch a result',
        parameters: [
          path('handle', 'From the submit.'),
          path('index', '0, -1, -2 …'),
          wait,
          ...requestHeaders,
        ],
        responses: {
          200: json('The result.', ref('Result')),
          202: json('Not there yet.', ref('Pending')),
          default: error,
        },
      },
    },
    '/requests/{id}': {
      delete: {
        summary: 'Cancel a request',
        parameters: [path('id', 'X-Request-Id, or the id from the answer.')],
        responses: { 200: json('cancelled, already_cancelled or already_done.'), default: error },
      },
    },
    '/cache': {
      post: {
        summary: 'Look at the cache, or empty it',
        requestBody: json('What to do.', {
          type: 'object',
          properties: { action: { enum: ['info', 'flush', 'delete'] }, handle: { type: 'string' } },
          required: ['action'],
        }),
        responses: { 200: json('What was done.'), default: error },
      },
    },
    '/drain': {
      post: {
        summary: 'Take no new work, end when the rest is done',
        requestBody: json('The limit.', {
          type: 'object',
          properties: { deadline_ms: milliseconds },
        }),
        responses: { 202: json('It has begun.'), default: error },
      },
    },
    '/healthz': { get: { summary: 'Alive', responses: { 200: json('Figures.') } } },
    '/readyz': {
      get: {
        summary: 'Ready for work',
        responses: { 200: json('Ready.'), 503: json('Not ready, and why.') },
      },
    },
    '/metrics': {
      get: {
        summary: 'For Prometheus',
        responses: { 200: { description: 'Text.', content: { 'text/plain': {} } } },
      },
    },
    '/openapi.json': {
      get: { summary: 'This document', responses: { 200: json('OpenAPI 3.1.') } },
    },
  },
  components: {
    schemas: {
      Error: {
        type: 'object',
        properties: {
          error: {
            type: 'object',
            properties: {
              code: { type: 'string' },
              message: { type: 'string' },
              retryable: { type: 'boolean' },
              retry_after_ms: { type: 'integer' },
              stage: { enum: ['arrival', 'queue', 'prepare', 'item', 'request'] },
            },
            required: ['code', 'message', 'retryable'],
          },
        },
        required: ['error'],
      },
      Result: {
        type: 'object',
        properties: {
          handle: { type: 'string' },
          index: { type: 'integer' },
          total: { type: 'integer' },
          result: {},
          request: { type: 'string' },
        },
      },
      Pending: {
        type: 'object',
        properties: {
          handle: { type: 'string' },
          index: { type: 'integer' },
          total: { type: 'integer' },
          state: { enum: ['pending', 'done'] },
          request: { type: 'string' },
        },
      },
    },
  },
}
