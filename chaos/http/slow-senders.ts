/**
 * Ordinary submits beside senders of one byte per second.
 *
 * A third of the senders is slow in the head, the rest in the body. Half of them are deaf: they ignore the server's
 * answers, close nothing, and continue to send until the system reports that the other end is gone. A sender that loses
 * its connection comes back a second later, so that there are always about as many. Ordinary clients submit from the
 * same address, each with a connection of its own: half of them send head and body together, half in two packets.
 */
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { serve, type Served } from './serve.ts'

export interface SlowSendersOptions {
  readonly checkout: string
  readonly senders: number
  readonly seconds: number
  /** Ordinary submits in a second. */
  readonly rate: number
  readonly limits?: object
}

export interface SlowSendersReport {
  readonly senders: number
  readonly seconds: number
  readonly submitted: number
  /** Answers to ordinary submits by status; `none` when the connection ended without one. */
  readonly answers: Readonly<Record<string, number>>
  /** Milliseconds of ordinary submits that were answered with 200. */
  readonly latency: { readonly p50: number; readonly p99: number; readonly max: number }
  /** Times that a slow sender had lost its connection and came back. */
  readonly cameBack: number
  /** The server's report at the end, with the senders still there. */
  readonly server: unknown
  readonly memoryMiB: number
}

const body = (number: number): string => JSON.stringify({ ordinary: number })

function headOf(length: number): string {
  return (
    'POST /jobs/echo?wait=10000 HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n' +
    `content-length: ${length}\r\nconnection: close\r\n\r\n`
  )
}

/** Keeps one slow connection until it is aborted. */
async function sendSlowly(
  { host, port }: Served,
  number: number,
  onBack: () => void,
  signal: AbortSignal,
): Promise<void> {
  const isDeaf = number % 2 === 1
  const isSlowInHead = number % 3 === 0
  // Spreads the requests over the second.
  await sleep((number % 100) * 10, undefined, { signal }).catch(() => undefined)
  while (!signal.aborted) {
    const socket = connect({ host, port, allowHalfOpen: isDeaf })
    const lost = new AbortController()
    socket.on('error', () => lost.abort())
    socket.on('close', () => lost.abort())
    if (isDeaf) socket.pause()
    else socket.on('end', () => lost.abort()).resume()
    socket.write(isSlowInHead ? 'POST /jobs/echo HTTP/1.1\r\nx-slow: ' : headOf(100_000))
    const over = AbortSignal.any([signal, lost.signal])
    while (!over.aborted) {
      await sleep(1_000, undefined, { signal: over }).catch(() => undefined)
      if (!over.aborted) socket.write('1')
    }
    socket.destroy()
    await sleep(1_000, undefined, { signal }).catch(() => undefined)
    if (!signal.aborted) onBack()
  }
}

interface Answer {
  readonly status: string
  readonly ms: number
}

async function submit({ host, port }: Served, number: number): Promise<Answer> {
  const since = performance.now()
  const socket: Socket = connect({ host, port })
  const text = body(number)
  const answered = Promise.withResolvers<string>()
  let received = ''
  socket.setEncoding('utf8')
  socket.on('data', (chunk: string) => (received += chunk))
  socket.on('error', () => answered.resolve('none'))
  socket.on('close', () => answered.resolve(/^HTTP\/1\.1 (\d+)/.exec(received)?.[1] ?? 'none'))
  socket.setTimeout(15_000, () => socket.destroy())
  if (number % 2 === 0) socket.write(headOf(text.length) + text)
  else {
    socket.setNoDelay(true)
    socket.write(headOf(text.length))
    await sleep(1)
    socket.write(text)
  }
  const status = await answered.promise
  return { status, ms: performance.now() - since }
}

export async function slowSenders(options: SlowSendersOptions): Promise<SlowSendersReport> {
  const { senders, seconds, rate } = options
  await using server = await serve(options.checkout, options.limits)
  const over = new AbortController()
  let cameBack = 0
  const slow = Array.from({ length: senders }, (_, number) =>
    sendSlowly(server, number, () => cameBack++, over.signal),
  )
  // All senders are connected, and those that may be displaced are known by now.
  await sleep(3_000)
  const submits: Promise<Answer>[] = []
  const begin = performance.now()
  for (let number = 0; number < seconds * rate; number++) {
    const wait = begin + (number * 1_000) / rate - performance.now()
    if (wait > 0) await sleep(wait)
    submits.push(submit(server, number))
  }
  const all = await Promise.all(submits)
  const { stats, memory } = await server.look()
  over.abort()
  await Promise.all(slow)
  const answers: Record<string, number> = {}
  for (const { status } of all) answers[status] = (answers[status] ?? 0) + 1
  const times = all
    .filter(({ status }) => status === '200')
    .map(({ ms }) => ms)
    .toSorted((a, b) => a - b)
  const at = (part: number): number =>
    Math.round((times[Math.min(times.length - 1, Math.floor(part * times.length))] ?? NaN) * 10) /
    10
  return {
    senders,
    seconds,
    submitted: all.length,
    answers,
    latency: { p50: at(0.5), p99: at(0.99), max: at(1) },
    cameBack,
    server: { connections: stats['connections'], arrivals: stats['arrivals'] },
    memoryMiB: Math.round(memory / 2 ** 20),
  }
}
