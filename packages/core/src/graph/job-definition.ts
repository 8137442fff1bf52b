import { currentCallSites, formatPosition } from '../kernel/call-site.ts'
import { soon } from '../kernel/clock.ts'
import { addressInPackage } from '../kernel/own-file.ts'

/**
 * Where and when a job was defined.
 *
 * A thread finds a job by module and name, so a second definition of that name would replace the
 * first, which would then run the second's code without a word. But a module may be evaluated twice
 * for good reasons (a test runner that isolates modules, a cleared `require.cache`), and its jobs
 * are then the same jobs.
 *
 *  D1  A definition is a repetition, and allowed, when the same calls of the same lines lead to it
 *      and it is not in the same synchronous stretch of code as the first.
 *  D2  Everything else is a conflict: other lines, or the same line reached twice in one evaluation
 *      (a loop, a factory).
 *
 * A module that is loaded under another address, such as one with a query, is another module.
 *
 * Known limits: a top-level loop with an await in it repeats a definition without a conflict. A
 * module that was edited and evaluated again under the same address is refused when its lines have
 * moved.
 */
export interface Definition {
  /** The calls in the module, or in the file that calls job() for it, innermost first. */
  readonly calls: readonly string[]
  /** Equal for definitions with no await between them. */
  readonly stretch: object
}

/** Deep enough for a factory in a factory. */
const deepestCall = 24

const graphFolder = addressInPackage('graph/')

let stretch: object | undefined

function currentStretch(): object {
  if (stretch === undefined) {
    stretch = {}
    soon(() => {
      stretch = undefined
    })
  }
  return stretch
}

/** The definition under way in the code that called job(). */
export function locateDefinition(module: string): Definition {
  const sites = currentCallSites(deepestCall).filter(
    ({ scriptName }) => !scriptName.startsWith(graphFolder) && !scriptName.startsWith('node:'),
  )
  const file = sites[0]?.scriptName
  const own = sites.filter(({ scriptName }) => scriptName === file || scriptName === module)
  return { calls: own.map(formatPosition), stretch: currentStretch() }
}

/** The two places, when the second definition is not a repetition of the first. */
export function describeConflict(
  first: Definition,
  second: Definition,
): { first: string; second: string } | undefined {
  const length = Math.max(first.calls.length, second.calls.length)
  for (let index = 0; index < length; index++) {
    if (first.calls[index] === second.calls[index]) continue
    return { first: placeAt(first, index), second: placeAt(second, index) }
  }
  if (first.stretch !== second.stretch) return undefined
  return { first: placeAt(first, 0), second: placeAt(second, 0) }
}

/** The call that distinguishes it from the other definition, or the innermost when its stack is the shorter one. */
function placeAt({ calls }: Definition, index: number): string {
  return calls[index] ?? calls[0] ?? 'an unknown place'
}
