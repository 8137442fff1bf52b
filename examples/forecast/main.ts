/** Starts the service on a free port, plays a client against it, and says what happened. */
import { setTimeout as sleep } from 'node:timers/promises'
import { startServer } from '@heddle/server'
import * as jobs from './jobs.ts'

/** Enough rounds for one side to give up first. */
const endless = 1e9

const say = (what: string, text: string): void => console.log(`${what.padEnd(12)} ${text}`)

interface Answer {
  readonly status: number
  readonly retryAfter: string | null
  readonly body: {
    readonly handle?: string
    readonly total?: number
    readonly state?: string
    readonly result?: string
    readonly error?: { readonly code: string; readonly message: string }
  }
}

/** An upload with a reading every five minutes; `start` makes it another one. */
function readings(start: number, count = 60): string {
  const lines = Array.from({ length: count }, (_, i) => {
    const time = new Date(Date.UTC(2026, 0, 1, 6, 5 * i)).toISOString().slice(0, 16)
    const value = 110 + start + 30 * Math.sin(i / 9) + 4 * Math.sin(i * i)
    return `${time},${value.toFixed(1)}`
  })
  return ['time,value mg/dL', ...lines].join('\n')
}

// One of two threads is kept for priority 0. There are eight seats for queued and running work, and
// new work is refused when more than three quarters are taken: seven fit.
await using server = await startServer({
  jobs,
  port: 0,
  threads: 2,
  limits: { prepareCapacity: 8, drain: 5_000 },
})
say('listening', `${server.jobs.join(', ')} on ${server.host}`)

async function call(path: string, init: RequestInit = {}): Promise<Answer> {
  const response = await fetch(server.url + path, init)
  const body = (await response.json()) as Answer['body']
  return { status: response.status, retryAfter: response.headers.get('retry-after'), body }
}

function submit(query: string, input: unknown, signal?: AbortSignal): Promise<Answer> {
  return call(`/jobs/forecast?${query}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(input),
    ...(signal && { signal }),
  })
}

/** Waits until the server has seen what a client cannot see. */
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await sleep(5)
}

// Submit, and fetch the results later: the handle is the name of the content.
const ada = { csv: readings(6) }
const { status, body } = await submit('', ada)
say('submit', `${status} ${body.state}: ${body.total} plots will be there`)
for (const index of [0, -23]) {
  const plot = await call(`/results/${body.handle}/${index}?wait=30000`)
  say(
    'result',
    `${plot.status} plot ${index}: ${plot.body.result?.slice(0, 4)}…, ${plot.body.result?.length} characters`,
  )
}
// All plots were reported; the last ones may not have reached the store yet.
await until(() => server.stats().works === 0)
const same = await submit('', ada)
say('again', `${same.status} ${same.body.state}: the same handle, nothing was computed`)
const smaller = await submit('', { ...ada, plots: 1 })
say(
  'smaller',
  `${smaller.status} ${smaller.body.state}: the larger one answers, with ${smaller.body.total} plots`,
)
const wrong = await submit('', { csv: 'time,value\n00:00,96' })
say('bad input', `${wrong.status} ${wrong.body.error?.message}`)

// Somebody waits in front of a screen: priority 0 has a thread of its own.
const slow = new AbortController()
const background = submit('wait=30000', { csv: readings(7), rounds: endless }, slow.signal)
await until(() => server.stats().prepare.queue.running === 1)
const grace = { csv: readings(5) }
const quick = await submit('wait=30000&priority=0', { ...grace, plots: 1 })
say('quick', `${quick.status} while another one computes in the background`)

// The client of the background request leaves: nobody wants the result, so the work ends.
slow.abort()
await background.catch(() => undefined)
await until(() => server.stats().works === 0)
say(
  'disconnect',
  `work under way: ${server.stats().works}, disconnected: ${server.stats().registry.outcomes.disconnected}`,
)

// The quick plot is likely followed by requests for the others: five seconds later they are computed, when there is
// room.
await until(() => server.stats().prefetch.started === 1 && server.stats().works === 0)
const rest = await submit('', grace)
say(
  'ahead',
  `${rest.status} ${rest.body.state}: ${rest.body.total} plots were made before they were asked for`,
)

// The screen shows something else meanwhile: of the requests of one slot the newest counts.
const old = submit('wait=30000&slot=screen', { csv: readings(8), rounds: endless })
await until(() => server.stats().works === 1)
const newer = await submit('wait=30000&slot=screen&priority=0', { csv: readings(9) })
const superseded = await old
say('slot', `older ${superseded.status} ${superseded.body.error?.code}, newer ${newer.status}`)

// More requests than there is room for: refused clients get their answer at once, with a retry time.
const crowd = new AbortController()
const many = Array.from({ length: 12 }, (_, i) =>
  submit('wait=30000', { csv: readings(10 + i), rounds: endless }, crowd.signal).catch(
    () => undefined,
  ),
)
const first = await Promise.race(many)
await until(() => {
  const { queue, outcomes } = server.stats().prepare
  return outcomes.rejected + queue.queued + queue.running === many.length
})
say('overload', `${first?.status} ${first?.body.error?.code}, Retry-After: ${first?.retryAfter} s`)
const health = await call('/healthz')
say('health', `${health.status} also now: it is never refused`)
crowd.abort()
await Promise.all(many)
await until(() => server.stats().works === 0)
const refused = server.stats().prepare.outcomes.rejected
say('overload', `${refused} of ${many.length} refused; the others left, and the queue is empty`)

// Drain: the door is closed, what was admitted is finished.
const { submitted } = server.stats().prepare
const last = submit('wait=30000', { csv: readings(30) })
await until(() => server.stats().prepare.submitted > submitted)
const drained = server.drain()
const late = await submit('', { csv: readings(31) }).catch(() => undefined)
if (late !== undefined) say('drain', `new work: ${late.status} ${late.body.error?.code}`)
say('drain', `admitted work: ${(await last).status}`)
const { isClean } = await drained
say('stopped', isClean ? 'everything that was admitted has ended' : 'work was cut off')
