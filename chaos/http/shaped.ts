/**
 * Requests made from the route table and a seed: address, head and content type are sound, so that they reach the validation of a
 * route. Then a word of the address, of the query or of the body is wrong: another type, a key of a prototype, too long, too deep.
 */
import type { Contract } from '../../packages/server/src/client/contract/contract.ts'
import { api } from '../../packages/server/src/client/contract/api.ts'
import type { Malformed } from '../../packages/server/test/support/malformed.ts'
import { seededRandom, type Random } from '@heddle/core/lowlevel'

/** They would end the server, or close it to everyone without a password: then nothing reaches a validation. */
const avoided = new Set(['POST /drain', 'POST /users', 'POST /tokens', 'POST /links/:secret'])

const contracts: readonly Contract[] = (api as readonly Contract[]).filter(
  ({ method, path }) => !avoided.has(`${method} ${path}`),
)

/** Each seed and number is one request. */
export function shaped(seed: number, number: number): Malformed {
  const random = seededRandom(seed * 1_000_033 + number)
  const { oneOf, chance } = choices(random)
  const contract = oneOf(contracts)
  const target = addressOf(contract, random)
  const text = bodyOf(contract, random)
  const { body, lines } = wire(text, random)
  const head = [
    `${contract.method} ${target} HTTP/1.1`,
    'host: localhost',
    ...(text === undefined ? [] : [`content-type: ${typeOf(contract)}`, ...lines]),
    ...(chance(0.3) ? [oneOf(oddHeaders)] : []),
  ]
  const bytes = `${head.join('\r\n')}\r\n\r\n${body}`
  // A stream of events ends when its reader leaves.
  const end = contract.path.endsWith('/events') ? 'leave' : 'half'
  return { bytes, end, ...(chance(0.02) && { isSlow: true }) }
}

function choices(random: Random) {
  return {
    oneOf: <T>(list: readonly T[]): T => list[Math.floor(random.next() * list.length)]!,
    chance: (part: number): boolean => random.next() < part,
  }
}

function typeOf({ body }: Contract): string {
  if (body === 'form') return 'application/x-www-form-urlencoded'
  return body === 'raw' ? 'application/octet-stream' : 'application/json'
}

/** The bytes of a body and the lines of the head that say how long it is: rarely, it is cut short. */
function wire(
  text: string | undefined,
  random: Random,
): { readonly body: string; readonly lines: readonly string[] } {
  const { chance } = choices(random)
  if (text === undefined) return { body: '', lines: [] }
  const whole = Buffer.from(text).toString('latin1')
  const cut = chance(0.03) ? whole.slice(0, Math.floor(random.next() * whole.length)) : whole
  if (chance(0.1)) {
    const chunk = `${whole.length.toString(16)}\r\n${cut}\r\n0\r\n\r\n`
    return { body: whole === '' ? '0\r\n\r\n' : chunk, lines: ['transfer-encoding: chunked'] }
  }
  return { body: cut, lines: [`content-length: ${whole.length}`] }
}

function addressOf({ path, query }: Contract, random: Random): string {
  const { oneOf, chance } = choices(random)
  const filled = path.replaceAll(/:(\w+)/g, (_, name: string) =>
    chance(0.7) ? (soundWords[name] ?? 'echo') : oneOf(oddWords),
  )
  const words: string[] = []
  for (const name of Object.keys(query?.properties ?? {})) {
    if (chance(0.5)) words.push(`${name}=${chance(0.4) ? oneOf(soundValues) : oneOf(oddValues)}`)
  }
  if (chance(0.15)) words.push(oneOf(oddQueries))
  return words.length === 0 ? filled : `${filled}?${words.join('&')}`
}

const soundWords: Readonly<Record<string, string>> = {
  handle: `echo-${'0'.repeat(64)}`,
  index: '0',
  name: 'echo',
  format: 'rows',
}
const oddWords = [
  '__proto__',
  'constructor',
  'toString',
  '-0',
  '-1',
  '1e9',
  '99999999999',
  '%00',
  '%2e%2e',
  '%F0%9F%92%A9',
  '%E2%80%AE',
  '..%2f..%2f',
  'a%20b',
  `x${'y'.repeat(300)}`,
  '%25',
  '~',
  '$',
]
const soundValues = ['1', '0', '5', 'true', 'echo', 'active']
const oddValues = [
  '',
  '-1',
  'NaN',
  '1e3',
  '0x10',
  '1.5',
  'null',
  '[object%20Object]',
  '%00',
  '__proto__',
  '99999999999',
  '-0',
  'true,false',
  '%7B%7D',
  '9'.repeat(400),
  '%F0%9F%92%A9',
]
const oddQueries = [
  '__proto__=1',
  'constructor[prototype]=1',
  'waitt=1',
  'wait=1&wait=2',
  '%=%',
  '&&&',
  '=',
  'a[]=1',
  'limit[$gt]=1',
  `${'q'.repeat(2_000)}=1`,
]
const oddHeaders = [
  'authorization: Bearer',
  'authorization: Bearer x',
  'authorization: Basic %%%',
  'cookie: a',
  'cookie: heddle=; heddle=__proto__',
  'x-csrf-token: \u00ff',
  'x-request-id: a b',
  'range: bytes=5-1',
  'range: bytes=0-,1-2',
  'if-none-match: "x", W/"y"',
  'x-deadline-ms: 0',
  'last-event-id: -1',
  'last-event-id: 1e99',
  'traceparent: 00-zz',
  'content-encoding: gzip',
  'accept: text/event-stream',
  'accept-encoding: br;q=x',
  'x-forwarded-for: ::1, evil',
  'expect: 100-continue',
  'connection: close',
  'if-range: x',
  'digest: sha-256=x',
]

function bodyOf(contract: Contract, random: Random): string | undefined {
  const { oneOf, chance } = choices(random)
  const { body, bodySchema, method } = contract
  if (method === 'GET') return undefined
  if (body === 'none') return chance(0.5) ? '' : '{}'
  if (body === 'raw') return oneOf(['', 'bytes', '\u0000'.repeat(100)])
  if (body === 'form') return oneOf(['', 'a=b', 'name=x&name=y', '__proto__=1', '%=%', '=&='])
  const isAny = bodySchema === undefined || Object.keys(bodySchema).length === 0
  const value = isAny ? oneOf(anyValues) : fake(bodySchema, random, 0)
  const text = JSON.stringify(chance(0.85) ? spoil(value, random) : value) ?? ''
  return chance(0.05) ? text.slice(0, Math.floor(random.next() * text.length)) : text
}

/** The part of JSON Schema that the contracts use. */
interface Schema {
  readonly type?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly minimum?: number
}

/** A value that fits a schema, or nearly. */
function fake(schema: Schema, random: Random, depth: number): unknown {
  const { oneOf, chance } = choices(random)
  if (depth > 6) return null
  if (schema.const !== undefined) return schema.const
  if (schema.enum !== undefined) return oneOf(schema.enum)
  if (schema.anyOf !== undefined) return fake(oneOf(schema.anyOf), random, depth + 1)
  switch (schema.type) {
    case 'object': {
      const made: Record<string, unknown> = {}
      for (const [name, each] of Object.entries(schema.properties ?? {})) {
        if (chance(0.8)) made[name] = fake(each, random, depth + 1)
      }
      return made
    }
    case 'array':
      return Array.from({ length: Math.floor(random.next() * 3) }, () =>
        fake(schema.items ?? {}, random, depth + 1),
      )
    case 'integer':
    case 'number':
      return (schema.minimum ?? 0) + Math.floor(random.next() * 10)
    case 'boolean':
      return chance(0.5)
    case 'null':
      return null
    case 'string':
      return oneOf(['echo', 'a', 'x'.repeat(20)])
    case undefined:
    default:
      return oneOf(anyValues)
  }
}

const anyValues: readonly unknown[] = [null, 0, 'text', [], {}, { a: { b: [1, 2, 3] } }, true]
const strange: readonly unknown[] = [
  null,
  true,
  -1,
  1.5,
  1e308,
  '',
  'x'.repeat(5_000),
  '\u0000',
  '\ud800',
  '__proto__',
  [],
  {},
  [[[[[]]]]],
  { length: -1 },
  { toJSON: 1 },
  { constructor: { prototype: {} } },
  Array.from({ length: 300 }, () => 0),
  { $gt: '' },
  '${7*7}',
  "'; DROP TABLE run; --",
]

/** One or two wrong parts. Keys such as `__proto__` are written as text: an object literal would set a prototype. */
function spoil(value: unknown, random: Random): unknown {
  const { oneOf, chance } = choices(random)
  if (typeof value !== 'object' || value === null || Array.isArray(value) || chance(0.1)) {
    return oneOf(strange)
  }
  const names = Object.keys(value)
  const made = new Map<string, unknown>(Object.entries(value))
  const name = names.length === 0 ? 'a' : oneOf(names)
  const how = oneOf(['replace', 'replace', 'delete', 'add'] as const)
  if (how === 'replace') made.set(name, oneOf(strange))
  else if (how === 'delete') made.delete(name)
  else made.set(oneOf(['__proto__', 'constructor', 'prototype', 'unknown', '']), oneOf(strange))
  return Object.fromEntries(made)
}
