/** Heddle in the rows about acknowledged jobs: `heddle serve` in a process of its own, asked over HTTP. */
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const program = fileURLToPath(new URL('serve-child.ts', import.meta.url))

/** A server that answers each job with 202 as soon as it is durable. */
export interface AckServer extends AsyncDisposable {
  /** Submits this many jobs, `inFlight` at a time, each with an input of its own. */
  submit(count: number, inFlight: number): Promise<void>
  /** Milliseconds of CPU that the server has used, all threads; undefined where the system does not say. */
  cpu(): number | undefined
  /** Waits until nothing is open. */
  waitDone(): Promise<void>
}

/** @param servers On one store: all jobs are submitted to the first, which forwards those that others own. */
export async function startAckServer(store: string, servers = 1): Promise<AckServer> {
  const children = Array.from({ length: servers }, () =>
    spawn(process.execPath, ['--conditions=heddle-source', program, store], {
      stdio: ['pipe', 'pipe', 'inherit'],
    }),
  )
  const urls = await Promise.all(
    children.map(async ({ stdout }) => {
      const lines = createInterface({ input: stdout })[Symbol.asyncIterator]()
      return (await lines.next()).value as string
    }),
  )
  const [url] = urls as [string]
  const agent = new Agent({ keepAlive: true, maxSockets: 64 })
  let jobs = 0
  const call = (
    path: string,
    method: string,
    body?: string,
  ): Promise<{ status: number; text: string }> =>
    new Promise((resolve, reject) => {
      const headers = { 'content-type': 'application/json' }
      const sent = request(url + path, { method, agent, headers }, (response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text }))
      })
      sent.on('error', reject).end(body)
    })
  // Each server has its part of the shards.
  while (servers > 1) {
    const { text } = await call('/healthz', 'GET')
    const { cluster } = JSON.parse(text) as { readonly cluster: { readonly shards: number } }
    if (cluster.shards === Math.ceil(256 / servers)) break
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  return {
    async submit(count, inFlight) {
      const end = jobs + count
      const lane = async (): Promise<void> => {
        while (jobs < end) {
          const { status, text } = await call('/jobs/echo', 'POST', JSON.stringify(jobs++))
          if (status !== 202) throw new Error(`${status}: ${text}`)
        }
      }
      await Promise.all(Array.from({ length: inFlight }, lane))
    },
    cpu() {
      const each = children.map(({ pid }) => cpuOf(pid))
      return each.reduce((sum, ms) =>
        sum === undefined || ms === undefined ? undefined : sum + ms,
      )
    },
    async waitDone() {
      for (;;) {
        const { text } = await call('/computations?limit=1', 'GET')
        if ((JSON.parse(text) as { total: number }).total === 0) return
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
    },
    async [Symbol.asyncDispose]() {
      agent.destroy()
      for (const child of children) {
        child.stdin.end()
        await new Promise((resolve) => child.once('close', resolve))
      }
    },
  }
}

function cpuOf(pid: number | undefined): number | undefined {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
    // Clock ticks of 10 ms.
    return 10 * (Number(fields[11]) + Number(fields[12]))
  } catch {
    return undefined
  }
}
