/**
 * The network thread of a worker: all connections, and the beats. A job that blocks the loop of the worker does not stop
 * them: the lease lives as long as this thread and the server agree that there is progress.
 *
 *  N1  A beat is sent when it is due, for all leases in one request. One that failed is sent again with full jitter,
 *      well before the lease is stale.
 *  N2  Every request has a deadline. A request whose caller has gone is cut, so that the next one has its connection; a claim
 *      is not: the server learns from the next call that the worker leaves.
 *  N3  A connection that the server closed while leases are held is a reason to beat soon, at a random time: after a
 *      restart of the server all workers come back within half a minute, and not all at once.
 *  N4  A lease that was lost and is not dropped in time means that the loop of the worker stands still (K6).
 *  N5  While a job is held and neither a claim nor an upload uses their connection, a beat waits there: its answer comes as
 *      soon as the server wants the job to stop, or has ended the lease. Claims and uploads end it.
 *  N6  A beat that is refused for good (its token was revoked, or the user who made it was blocked) means that all leases are lost.
 *  N7  A loop that holds no lease and answers none of four questions, spread over the time of the watchdog, stands still too: a job
 *      that was given up may block it, and nothing would claim any more. A process that was suspended has missed one question.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { describe, systemKernel, type Timer } from '@heddle/core/lowlevel'
import type { FromNetwork, NetworkSettings, ToNetwork } from './network-messages.ts'
import { Sender, type Answer } from './send.ts'

interface Held {
  readonly epoch: number
  readonly isWatched: boolean
  progress: number
  fraction: number | undefined
  text: string | undefined
}

const { clock, random } = systemKernel
const port = parentPort!
const { server, token, worker, watchdog } = workerData as NetworkSettings
const sender = new Sender(server, token, () => onClosed())
const held = new Map<string, Held>()
let timer: Timer | undefined
let dueAt = Infinity
let failures = 0

const beatWithin = 20_000
const backWithin = 30_000
/** Milliseconds that a beat waits (N5): less than the minute after which proxies close a connection. */
const watchFor = 50_000
/** Milliseconds without a claim or upload before it begins: short jobs are done without it. */
const watchAfter = 300
/** Milliseconds until a waiting beat whose leases have all ended is cut off: the server answers it long before. */
const watchEnds = 1_000
/** Claims and uploads under way. */
let slowCalls = 0
let watch: AbortController | undefined
let watchTimer: Timer | undefined
/** Failures of waiting beats in a row. */
let watchFailures = 0
/** Leases that were lost, and whose job has not ended. */
const lost = new Map<string, Timer>()

/** N3. */
function onClosed(): void {
  if (held.size > 0) beatIn(random.next() * backWithin)
}

/** N4. */
function watchLost(lease: string): void {
  if (watchdog === undefined) return
  // A signal that cannot be caught: the loop does not run, so nothing else would be heard.
  lost.set(
    lease,
    clock.setTimer(watchdog, () => process.kill(process.pid, 'SIGKILL')),
  )
}

/** N7. */
const mostUnanswered = 4
let unanswered = 0

function watchLoop(time: number): void {
  clock.setTimer(time / mostUnanswered, () => {
    // A job may keep the loop while its lease is held: its progress is what the server looks at.
    if (held.size > 0) unanswered = 0
    else if (unanswered === mostUnanswered) process.kill(process.pid, 'SIGKILL')
    else {
      unanswered++
      say({ kind: 'ping' })
    }
    watchLoop(time)
  })
}

if (watchdog !== undefined) watchLoop(watchdog)

function say(message: FromNetwork): void {
  port.postMessage(message)
}

function beatIn(delay: number): void {
  const at = clock.now() + delay
  if (at >= dueAt) return
  dueAt = at
  timer?.cancel()
  timer = clock.setTimer(delay, () => {
    // oxlint-disable-next-line typescript/no-floating-promises -- it never rejects, and the thread ends without waiting for it
    beat()
  })
}

/** Never rejects. */
async function beat(): Promise<void> {
  dueAt = Infinity
  if (held.size === 0) return
  const leases = [...held].map(([lease, { epoch, progress, fraction, text }]) => ({
    lease,
    epoch,
    progress,
    ...(fraction === undefined ? {} : { fraction }),
    ...(text === undefined ? {} : { text }),
  }))
  try {
    const answer = await sender.post('/fleet/beat', JSON.stringify({ worker, leases }), beatWithin)
    if (isRefusedForGood(answer)) return loseAll()
    if (answer.status !== 200) throw new Error(`status ${answer.status}`)
    const { next_beat_ms: next } = readNews(answer)
    failures = 0
    beatIn(next)
  } catch {
    // N1.
    failures++
    beatIn(random.next() * Math.min(500 * 2 ** failures, 15_000))
  }
}

interface BeatNews {
  readonly lost: readonly { lease: string; reason: string }[]
  /** Absent in the answer of an older server. */
  readonly stop?: readonly { lease: string; reason: string }[]
  readonly next_beat_ms: number
}

function lose(lease: string, reason: string): void {
  if (!held.delete(lease)) return
  watchLost(lease)
  say({ kind: 'lost', lease, reason })
}

/** What the answer to a beat says about leases. */
function readNews({ body }: Answer): BeatNews {
  const news = JSON.parse(body) as BeatNews
  say({ kind: 'contact' })
  for (const { lease, reason } of news.lost) lose(lease, reason)
  for (const { lease, reason } of news.stop ?? []) {
    if (held.has(lease)) say({ kind: 'stop', lease, reason })
  }
  return news
}

/** N6. A proxy that answers 401 in its own words says nothing about the token. */
function isRefusedForGood({ status, body }: Answer): boolean {
  if (status !== 401 && status !== 403) return false
  try {
    return (JSON.parse(body) as { error?: { retryable?: boolean } }).error?.retryable === false
  } catch {
    return false
  }
}

function loseAll(): void {
  for (const lease of held.keys()) lose(lease, 'refused')
}

// ── N5 ──────────────────────────────────────────────────────────────────────────────────────────

function watched(): { lease: string; epoch: number }[] {
  const leases: { lease: string; epoch: number }[] = []
  for (const [lease, { epoch, isWatched }] of held) if (isWatched) leases.push({ lease, epoch })
  return leases
}

function watchIn(delay: number): void {
  watchTimer?.cancel()
  watchTimer = clock.setTimer(delay, () => {
    // oxlint-disable-next-line typescript/no-floating-promises -- as beat()
    waitForNews()
  })
}

/** Never rejects. */
async function waitForNews(): Promise<void> {
  const leases = watched()
  if (leases.length === 0 || slowCalls > 0 || watch !== undefined) return
  const controller = (watch = new AbortController())
  const body = JSON.stringify({ worker, leases, wait_ms: watchFor })
  let delay = 0
  try {
    const answer = await sender.postSlow(
      '/fleet/beat',
      body,
      watchFor + beatWithin,
      controller.signal,
    )
    if (isRefusedForGood(answer)) loseAll()
    else if (answer.status !== 200) throw new Error(`status ${answer.status}`)
    const { stop = [] } = answer.status === 200 ? readNews(answer) : {}
    watchFailures = 0
    // Leases that it was asked to stop take their time; the answer would be the same at once.
    delay = stop.length > 0 ? watchEnds : 0
  } catch {
    if (!controller.signal.aborted) {
      watchFailures++
      delay = random.next() * Math.min(500 * 2 ** watchFailures, 15_000)
    }
  }
  watch = undefined
  if (slowCalls === 0) watchIn(Math.max(delay, watchAfter))
}

/** A claim or an upload needs the connection. */
function useSlow(sent: () => Promise<Answer>): Promise<Answer> {
  slowCalls++
  watchTimer?.cancel()
  const ending = watch
  if (ending !== undefined) {
    const cut = (): void => ending.abort()
    if (watched().length > 0) cut()
    else clock.setTimer(watchEnds, cut)
  }
  return sent().finally(() => {
    if (--slowCalls === 0) watchIn(watchAfter)
  })
}

/** Requests under way that may be cut (N2). */
const requests = new Map<number, AbortController>()

function pass(id: number, send: (cancel: AbortSignal) => Promise<Answer>): void {
  const controller = new AbortController()
  requests.set(id, controller)
  const fail = (error: unknown): void => say({ kind: 'failed', id, problem: describe(error) })
  send(controller.signal)
    .then((answer) => say({ kind: 'answer', id, ...answer }))
    .catch(fail)
    // heddle-ignore H202 -- the loop numbers its requests: no id comes twice
    .finally(() => requests.delete(id))
}

port.on('message', (message: ToNetwork) => {
  switch (message.kind) {
    case 'call': {
      const { id, path, body, within } = message
      if (path === '/fleet/claim') pass(id, () => useSlow(() => sender.post(path, body, within)))
      else pass(id, (cancel) => sender.post(path, body, within, cancel))
      return
    }
    case 'pong':
      unanswered = 0
      return
    case 'cut':
      requests.get(message.id)?.abort()
      return
    case 'ask':
      pass(message.id, (cancel) => sender.get(message.path, message.within, cancel))
      return
    case 'download': {
      const { path, file, within } = message
      pass(message.id, (cancel) => useSlow(() => sender.download(path, file, within, cancel)))
      return
    }
    case 'upload':
      pass(message.id, (cancel) => useSlow(() => sender.put({ ...message, cancel })))
      return
    case 'hold': {
      const { lease, epoch, nextBeat, isWatched } = message
      held.set(lease, { epoch, isWatched, progress: 0, fraction: undefined, text: undefined })
      beatIn(nextBeat)
      if (slowCalls === 0) watchIn(watchAfter)
      return
    }
    case 'drop':
      held.delete(message.lease)
      lost.get(message.lease)?.cancel()
      lost.delete(message.lease)
      return
    case 'progress': {
      const lease = held.get(message.lease)
      if (lease === undefined) return
      lease.progress++
      lease.fraction = message.fraction ?? lease.fraction
      lease.text = message.text ?? lease.text
    }
  }
})
