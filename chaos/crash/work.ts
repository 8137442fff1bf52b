/** The work of a crash test: the input of each node, its effects, and its expected result. */
import { createHash } from 'node:crypto'
import { appendFileSync } from 'node:fs'
import { appendFile } from 'node:fs/promises'
import { job, retryAfter } from '@heddle/core'

export interface Task {
  readonly name: string
  readonly seed: number
  /** Where it says that it has started, and that it is done. */
  readonly effects: string
  /** Fails the first time. */
  readonly isFlaky: boolean
  /** Digests of the results it is made from, in order. */
  readonly from: readonly string[]
}

export interface Value {
  readonly digest: string
  readonly payload: unknown
}

/** What a task returns: a function of its name, the seed and the results before it. */
export function valueOf({ name, seed, from }: Pick<Task, 'name' | 'seed' | 'from'>): Value {
  const bytes = createHash('sha256')
    .update([seed, name, ...from].join('\n'))
    .digest()
  const digest = bytes.toString('hex')
  return { digest, payload: payloadOf(bytes[0]! % 16, digest) }
}

/** Mostly small; one in sixteen is large enough to be a file of its own. */
function payloadOf(kind: number, digest: string): unknown {
  if (kind === 0) return digest.repeat(2_000)
  if (kind === 1) return new Map([[digest, new Set([1n, -0, undefined])]])
  if (kind === 2) return Uint8Array.from(digest, (letter) => letter.charCodeAt(0))
  return kind < 8 ? undefined : { list: [kind, digest, null] }
}

/** One line of the log of effects. The process is named, to distinguish the lives of a run. */
function line(what: 'start' | 'end', { name }: Task): string {
  return `${what} ${process.pid} ${name}\n`
}

/** Like a job that sends mail: each effect is on the medium before the job continues. */
const durably = { flush: true } as const

export const onLoop = job({ name: 'on the loop', retries: 2 }, async (task: Task, ctx) => {
  await appendFile(task.effects, line('start', task), durably)
  if (task.isFlaky && ctx.attempt === 0) throw retryAfter(1, new Error('flaky'))
  const value = valueOf(task)
  await appendFile(task.effects, line('end', task), durably)
  ctx.log(`made ${value.digest}`)
  return value
})

export const inThread = job(
  { name: 'in a thread', place: 'thread', module: import.meta.url, retries: 2 },
  (task: Task, ctx) => {
    appendFileSync(task.effects, line('start', task), durably)
    if (task.isFlaky && ctx.attempt === 0) throw retryAfter(1, new Error('flaky'))
    const value = valueOf(task)
    appendFileSync(task.effects, line('end', task), durably)
    return value
  },
)
