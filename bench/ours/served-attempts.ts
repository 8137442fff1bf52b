/** Heddle in the rows about served jobs: a real server over HTTP, with one slot. */
import { job, retryAfter } from '@heddle/core'
import { startServer } from '@heddle/server'

/** Milliseconds the job in back-off waits for its next attempt. */
const backoff = 2_000

const flaky = job({ name: 'flaky', retries: 1 }, (_: unknown, { attempt }) => {
  if (attempt === 0) throw retryAfter(backoff)
  return 'at last'
})
const quick = job({ name: 'quick' }, (input: number) => input)

/**
 * Starts a server. The function that it returns measures the milliseconds from the request for a quick job to
 * its answer, and stops the server. `isBeside`: while another job is in back-off.
 */
export async function quickJob(isBeside: boolean, count: number): Promise<() => Promise<number[]>> {
  const server = await startServer({
    jobs: [flaky, quick],
    port: 0,
    limits: { loop: { permits: 1, reserved: 0 } },
  })
  const post = async (path: string, input: unknown): Promise<Response> => {
    const answer = await fetch(`${server.url}/jobs/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(input),
    })
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
    await answer.arrayBuffer()
    return answer
  }
  // The first request opens the connection and loads lazily loaded modules.
  await post('quick?wait=60000', -1)
  return async () => {
    await using _stopped = server
    const times: number[] = []
    for (let round = 0; round < count; round++) {
      if (isBeside) await post('flaky', round)
      const started = performance.now()
      await post('quick?wait=60000', round)
      times.push(performance.now() - started)
    }
    return times
  }
}
