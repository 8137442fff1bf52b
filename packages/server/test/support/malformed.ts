/**
 * Requests that are wrong in one or many ways, made from a seed.
 *
 * Each is a text of bytes (latin1) and a way to end it. Most parts are sound, so that a wrong part meets code behind the parser.
 */
import { connect } from 'node:net'
import { seededRandom, type Random } from '@heddle/core/lowlevel'
import type { Address } from './client.ts'

export interface Malformed {
  readonly bytes: string
  /** Closes its half and reads, or leaves without a word. */
  readonly end: 'half' | 'leave'
  /** Whether it is sent in pieces, with pauses. */
  readonly isSlow?: boolean
}

/** Each seed and number is one request. */
export function malformed(seed: number, number: number): Malformed {
  const random = seededRandom(seed * 1_000_003 + number)
  const oneOf = <T>(list: readonly T[]): T => list[Math.floor(random.next() * list.length)]!
  const usually = <T>(sound: T, other: () => T, chance = 0.7): T =>
    random.next() < chance ? sound : other()
  const body = usually(oneOf(bodies), () => noise(random, 200))
  const method = usually(oneOf(['POST', 'POST', 'GET', 'DELETE']), () => oneOf(methods))
  const path = usually(oneOf(paths), () => oneOf(oddPaths))
  const version = usually('HTTP/1.1', () => oneOf(versions), 0.9)
  const lines = [
    usually('host: localhost', () => oneOf(hosts), 0.9),
    ...usually(['content-type: application/json'], () => [oneOf(types)]),
    ...usually([`content-length: ${body.length}`], () => oneOf(lengths)),
  ]
  while (random.next() < 0.35) {
    const at = Math.floor(random.next() * (lines.length + 1))
    lines.splice(
      at,
      0,
      usually(oneOf(headers), () => noise(random, 40), 0.9),
    )
  }
  const head = [`${method} ${path} ${version}`, ...lines.filter((line) => line !== '')]
  const whole = `${head.join('\r\n')}\r\n\r\n${body}`
  const cut = usually(whole, () => whole.slice(0, Math.floor(random.next() * whole.length)), 0.85)
  const bytes = usually(cut, () => cut + whole, 0.9)
  return { bytes, end: usually('half' as const, () => 'leave' as const, 0.9) }
}

/** The statuses of all answers to it, in order, and the received bytes. */
export interface Answered {
  readonly statuses: readonly number[]
  readonly text: string
}

/**
 * Sends it and reads until the server has closed.
 *
 * *Cancellation*: the signal gives up: it rejects.
 * @param later Waits between two pieces of a slow request.
 */
export async function sendMalformed(
  { host, port }: Address,
  { bytes, end, isSlow = false }: Malformed,
  signal?: AbortSignal,
  later: (next: () => void) => void = setImmediate,
): Promise<Answered> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const socket = connect({ host, port, allowHalfOpen: true })
  const giveUp = (): void => reject(new Error('The server keeps the connection.'))
  signal?.addEventListener('abort', giveUp, { once: true })
  let text = ''
  socket.setEncoding('latin1')
  socket.on('data', (chunk: string) => (text += chunk))
  socket.on('error', () => resolve())
  socket.on('close', () => resolve())
  socket.on('end', () => socket.end())
  const pieces = isSlow ? (bytes.match(/[^]{1,64}/g) ?? []) : [bytes]
  const sendNext = (): void => {
    const piece = pieces.shift()
    if (piece !== undefined && !socket.destroyed) {
      socket.write(piece, 'latin1', () => (isSlow ? later(sendNext) : sendNext()))
    } else if (end === 'half') socket.end()
    else socket.destroy()
  }
  sendNext()
  try {
    await promise
  } finally {
    signal?.removeEventListener('abort', giveUp)
    socket.destroy()
  }
  return {
    statuses: Array.from(text.matchAll(/^HTTP\/1\.1 (\d{3}) /gm), ([, code]) => Number(code)),
    text,
  }
}

/** Why these answers are wrong; undefined when they are not. */
export function problemOf({ statuses, text }: Answered): string | undefined {
  for (const status of statuses) {
    if (status < 500) continue
    // A health check says 503 with its causes.
    const isHonest = /^retry-after: \d+\r$/im.test(text) || text.includes('"ready":false')
    if (status !== 503 || !isHonest) return `status ${status}`
  }
  if (text.includes('job_failed')) return 'job_failed'
  return text.includes('internal_error') ? 'internal_error' : undefined
}

const methods = [
  ...'PUT PATCH HEAD OPTIONS TRACE QUERY PROPFIND REPORT MKCOL LOCK PURGE SEARCH CONNECT'.split(
    ' ',
  ),
  'SOURCE',
  'M-SEARCH',
  'get',
  'Post',
  'G ET',
  '',
  'PRI',
  'A'.repeat(100),
  'GÉT',
  'GET\0',
]
const longId = 'x'.repeat(300)
const paths = [
  '/jobs/echo',
  '/jobs/echo?wait=1000',
  '/jobs/echo?wait=1000&index=0&priority=0&slot=a&force=true',
  '/jobs',
  '/results/echo-00/0',
  '/requests/none',
  '/cache',
  '/healthz',
  '/metrics',
  '/openapi.json',
]
const oddPaths = [
  '/',
  '//',
  '*',
  '',
  '/jobs/',
  '/jobs//echo',
  '/jobs/echo/',
  '/%',
  '/%00',
  '/jobs/%2e%2e/echo',
  '/jobs/%E0%A4%A',
  '/jobs/__proto__',
  '/jobs/constructor',
  '/results/__proto__/0',
  '/results/a/-0',
  '/results/a/1e9',
  '/results/a/99999999999',
  '/requests/%F0%9F%92%A9',
  '/jobs/echo?wait=',
  '/jobs/echo?wait=-1',
  '/jobs/echo?wait[]=1',
  '/jobs/echo?wait=1&wait=2',
  '/jobs/echo?priority=2',
  '/jobs/echo?slot=',
  '/jobs/echo?__proto__=1',
  '/jobs/echo?%=%',
  'http://localhost/jobs',
  'http://evil/jobs',
  'localhost:80',
  '/jobs#part',
  '/jobs?#',
  '/jobs;a=b',
  `/requests/${longId}`,
  `/${'a/'.repeat(2_000)}`,
  `/jobs?${'q=1&'.repeat(3_000)}`,
  '/\u00ff\u00fe',
]
const versions = ['HTTP/1.0', 'HTTP/2.0', 'HTTP/0.9', 'HTTP/9.9', 'HTP/1.1', '', 'HTTP/1.1 extra']
const hosts = [
  '',
  'host: evil.example',
  'host:',
  'host: a\r\nhost: b',
  'host: [::1',
  `host: ${longId}`,
]
const types = [
  '',
  'content-type:',
  'content-type: text/plain',
  'content-type: application/json;',
  'content-type: ;',
  'content-type: application/json; charset=\u00ff',
  'content-type: APPLICATION/JSON',
  'content-type: application/json, text/plain',
  'content-type: multipart/form-data; boundary=',
  'content-type: application/x-www-form-urlencoded',
  `content-type: a/${longId}`,
  'content-type: a',
]
const lengths: readonly (readonly string[])[] = [
  [''],
  ['content-length: 0'],
  ['content-length: 5'],
  ['content-length: 100000'],
  ['content-length: 99999999999'],
  ['content-length: 18446744073709551616'],
  ['content-length: -1'],
  ['content-length: x'],
  ['content-length: 1', 'content-length: 2'],
  ['transfer-encoding: chunked'],
  ['transfer-encoding: chunked', 'content-length: 5'],
  ['transfer-encoding: gzip, chunked'],
  ['transfer-encoding: identity'],
]
const headers = [
  'connection: close',
  'connection: keep-alive',
  'connection: upgrade',
  'upgrade: h2c',
  'expect: 100-continue',
  'expect: nonsense',
  'origin: http://evil.example',
  'origin: null',
  'content-encoding: gzip',
  'te: trailers',
  'content-encoding: br, gzip',
  'x-request-id: a b',
  'x-request-id:',
  `x-request-id: ${longId}`,
  'x-deadline-ms: 0',
  'x-deadline-ms: 1',
  'x-deadline-ms: never',
  'x-deadline-ms: 9999999999',
  'range: bytes=0-',
  'if-none-match: *',
  'accept: */*',
  'cookie: a=b',
  ': no name',
  'no colon',
  ' folded',
  'x: \u0001',
  'x\u0000: y',
  '__proto__: 1',
  'constructor: 1',
  `x: ${'y'.repeat(20_000)}`,
]
const bodies = [
  '',
  '1',
  '"text"',
  '{}',
  '[]',
  'null',
  '{"a":{"b":[1,2,3]}}',
  '{',
  '[1,',
  '"half',
  'undefined',
  '\u0000',
  '{"__proto__":{"x":1}}',
  '1e999',
  '-0',
  '[['.repeat(2_000),
  '5\r\n"abc"\r\n0\r\n\r\n',
  '5\r\nabc',
  'zz\r\nabc\r\n',
  'ffffffffffffffffff\r\n',
  '0\r\n\r\n',
  '1;x=y\r\n1\r\n0\r\ntrailer: 1\r\n\r\n',
  '\u00ff\u00fe"',
]

function noise(random: Random, most: number): string {
  const length = Math.floor(random.next() * most)
  return Array.from({ length }, () => String.fromCharCode(Math.floor(random.next() * 256))).join('')
}
