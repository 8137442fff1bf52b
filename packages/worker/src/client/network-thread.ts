/**
 * The network thread of a worker: all connections, and the beats. A job that blocks the loop of the worker does not stop
 * them: the lease lives as long as this thread and the server agree that there is progress.
 *
 *  N1  A beat is sent when it is due, for all leases in one request. One that failed is sent again with full jitter,
 *      well before the lease is stale.
 *  N2  Every request has a deadline.
 *  N3  A connection that the server closed while leases are held is a reason to beat soon, at a random time: after a
 *      restart of the server all workers come back within half a minute, and not all at once.
 *  N4  A lease that was lost and is not dropped in time means that the loop of the worker stands still (K6).
 */
import { parentPort, workerData } from 'node:worker_threads'
import { describe, systemKernel, type Timer } from '@heddle/core/lowlevel'
import type { FromNetwork, NetworkSettings, ToNetwork } from './messages.ts'
import { Sender, type Answer } from './send.ts'

interface Held {
  readonly epoch: number
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
    if (answer.status !== 200) throw new Error(`status ${answer.status}`)
    const { lost: gone, next_beat_ms: next } = JSON.parse(answer.body) as {
      lost: { lease: string; reason: string }[]
      next_beat_ms: number
    }
    failures = 0
    say({ kind: 'contact' })
    for (const { lease, reason } of gone) {
      if (!held.delete(lease)) continue
      watchLost(lease)
      say({ kind: 'lost', lease, reason })
    }
    beatIn(next)
  } catch {
    // N1.
    failures++
    beatIn(random.next() * Math.min(500 * 2 ** failures, 15_000))
  }
}

function pass(id: number, sent: Promise<Answer>): void {
  const fail = (error: unknown): void => say({ kind: 'failed', id, problem: describe(error) })
  sent.then((answer) => say({ kind: 'answer', id, ...answer })).catch(fail)
}

port.on('message', (message: ToNetwork) => {
  switch (message.kind) {
    case 'call':
      pass(message.id, sender.post(message.path, message.body, message.within))
      return
    case 'ask':
      pass(message.id, sender.get(message.path, message.within))
      return
    case 'upload':
      pass(message.id, sender.put(message))
      return
    case 'hold': {
      const { lease, epoch, nextBeat } = message
      held.set(lease, { epoch, progress: 0, fraction: undefined, text: undefined })
      beatIn(nextBeat)
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
