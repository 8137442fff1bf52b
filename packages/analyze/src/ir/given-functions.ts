/**
 * Lowers functions with a name whose only use is as an argument of one call:
 *
 *     storage.open(onopen)
 *     function onopen(error) { … }
 *
 * Such a function is lowered into the graph of that call, like an inline callback, because its order is known
 * there. A function that is used in any other way has a graph of its own.
 */
import type { HostLowering } from './host.ts'
import type { AnyFunction } from './nodes.ts'
import type { FunctionUnit } from './program.ts'
import type { Scope } from './scope.ts'
import type { Value } from './values.ts'

/** Characters of the outer function; larger ones are wrappers of whole modules, and the search would be quadratic. */
const largest = 20_000

/** Makes the unit of a function that a later call will lower; undefined when the function is used in another way. */
export function givenFunction(
  cx: HostLowering,
  node: AnyFunction,
  name: string | undefined,
): FunctionUnit | undefined {
  if (name === undefined || node.body === null || node.generator) return undefined
  if (cx.unit.kind === 'module' || cx.file.prototypes.has(name)) return undefined
  if (!isGivenOnce(cx.unit, node, name)) return undefined
  const unit = cx.file.unitOf(node, cx.unit, { name, kind: 'callback', visibility: 'local' })
  cx.file.enqueueGiven(unit, cx.scope, cx.frame.thisValue)
  return unit
}

/** The name occurs twice: in the declaration, and as a whole argument of a call. */
function isGivenOnce({ file, start, end }: FunctionUnit, node: AnyFunction, name: string): boolean {
  if (end - start > largest) return false
  const { text } = file.parsed
  const whole = text.slice(start, end)
  const places: number[] = []
  for (let at = whole.indexOf(name); at !== -1; at = whole.indexOf(name, at + name.length)) {
    if (isPartOfName(whole[at - 1]) || isPartOfName(whole[at + name.length])) continue
    places.push(start + at)
    if (places.length > 2) return false
  }
  const use = places.find((at) => at > node.end || at < declaredFrom(text, node))
  if (places.length !== 2 || use === undefined) return false
  return (
    /[(,]\s*$/.test(text.slice(Math.max(0, use - 40), use)) &&
    /^\s*[,)]/.test(text.slice(use + name.length, use + name.length + 40))
  )
}

/** The declaration includes `const onOpen = `. */
function declaredFrom(text: string, { type, start }: AnyFunction): number {
  if (type === 'FunctionDeclaration') return start
  const before = text.slice(Math.max(0, start - 200), start)
  return start - (/[\w$]+\s*(?::[^=;]*)?=\s*$/.exec(before)?.[0].length ?? 0)
}

function isPartOfName(letter: string | undefined): boolean {
  return letter !== undefined && /[\w$]/.test(letter)
}

/** Finds the function that an argument names, when the call has to lower it. */
export function givenBy(cx: HostLowering, name: string): FunctionUnit | undefined {
  const unit = cx.scope.find(name)?.value.unit
  return unit !== undefined && cx.file.isGiven(unit) ? unit : undefined
}

/** The scope and the `this` for lowering a callback. */
export function surroundings(
  cx: HostLowering,
  unit: FunctionUnit,
): { readonly scope: Scope; readonly thisValue: Value } {
  return cx.file.takeGiven(unit) ?? { scope: cx.scope, thisValue: cx.frame.thisValue }
}
