/** A client that waits for its result as long as it takes. */
import type { Client, Result } from '@heddle/server/client'

/** The server answers after a minute at the latest, with the result or without it. */
const query = { wait: 60_000 }

/** Submits an input and waits for the result. */
export async function ask(client: Client, name: string, input: unknown): Promise<Result> {
  const { body } = await client.call('POST /jobs/:name', { params: { name }, query, body: input })
  return 'result' in body ? body : waitForResult(client, body.handle)
}

/** Waits for the result of something that was submitted before, to this process of the server or to another one. */
export async function waitForResult(client: Client, handle: string): Promise<Result> {
  for (;;) {
    const params = { handle, index: 0 }
    const { body } = await client.call('GET /results/:handle/:index', { params, query })
    if ('result' in body) return body
  }
}
