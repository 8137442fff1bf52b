/**
 * Finds jobs that make durable steps before they are served.
 *
 * A served job is a computation: it is named by its input, shared by all callers that send the same one, and its result
 * is kept. A signal or a sleep of days is not part of that name. Durable steps belong to runs (decision 0287). The
 * function itself is asked, as text: steps in other functions are found when they are called (`HDL_NO_STEPS`).
 */
import type { Job } from '@heddle/core'

/** Comments and texts: calls in them do not count. */
const notCode =
  /\/\/[^\n]*|\/\*[\s\S]*?\*\/|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`/g

/** The second parameter of a function: a name, or names that are taken out of it. */
const secondParameter =
  /^(?:async\s+)?(?:function\s*\w*\s*|\w+\s*)?\(\s*(?:\{[^}]*\}|\[[^\]]*\]|[\w$]+)(?:\s*=[^,()]*)?\s*,\s*(?:([\w$]+)|\{([^}]*)\})/

const steps = ['run', 'sleep', 'waitFor'] as const

/** The durable step that a loop job calls; undefined when none is seen. */
export function findStep({ place, run }: Pick<Job, 'place' | 'run'>): string | undefined {
  if (place !== 'loop') return undefined
  const code = Function.prototype.toString.call(run).replaceAll(notCode, '')
  const [, name, taken] = secondParameter.exec(code) ?? []
  if (taken !== undefined) {
    const names = taken.split(',').map((each) => each.split(/[:=]/)[0]!.trim())
    return steps.find((step) => names.includes(step))
  }
  if (name === undefined) return undefined
  const escaped = name.replaceAll('$', String.raw`\$`)
  return steps.find((step) => new RegExp(`(?<![\\w$.])${escaped}\\.${step}\\s*\\(`).test(code))
}

/** The message for a server that serves such a job, and for a client that submits it. */
export function stepRefusal(job: string, step: string): string {
  return `the job ${job} calls ctx.${step}(), which only runs have: put it into a graph, and start that with POST /runs`
}
