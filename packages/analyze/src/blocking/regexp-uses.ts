/**
 * Regular expressions that are slow on some input, where they are applied to data that may be it.
 *
 * I1  A pattern is reported where it is used, not where it is written: only there its input is known.
 * I2  What cannot be attacked is silent: bounded input, linear patterns, patterns that are only slow
 *     because they search and whose input is not chosen outside of the program.
 */
import type { Expression, Node } from 'oxc-parser'
import type { Level } from '../finding.ts'
import { keyName, unwrap } from '../ir/nodes.ts'
import type { CallSite, FileUnit, FunctionUnit } from '../ir/program.ts'
import { isAssignedOnce } from './assigned-once.ts'
import { declarationOf } from './declarations.ts'
import type { Evaluator } from './evaluate/evaluate.ts'
import { isPattern } from './evaluate/value.ts'
import { foldPattern } from './fold-pattern.ts'
import type { FoldedPattern } from './fold-pattern.ts'
import type { Blocking } from './make-finding.ts'
import type { OriginFinder } from './origin.ts'
import type { Origin } from './origin-kinds.ts'
import { mayRepeatEndlessly } from '../regexp/loops.ts'
import { isNeverSlow } from '../regexp/shape.ts'
import { attackText, regExpVerdict } from '../regexp/verdict.ts'
import type { RegExpVerdict } from '../regexp/verdict.ts'
import { isCold } from './roots.ts'
import type { RootFinder, Route } from './roots.ts'
import { ruleOfId } from './rules.ts'
import { pathToCall } from './syntax.ts'

const onPattern = new Set(['test', 'exec'])
const onText = new Set(['match', 'matchAll', 'replace', 'replaceAll', 'search', 'split'])

/** Decides by name, unless the argument is a text: most calls of `split` and `replace` get one. */
export function mayUseRegExp({ name, args }: CallSite): boolean {
  if (onText.has(name)) return args[0] !== undefined && args[0].literal === undefined
  return onPattern.has(name)
}

interface Use {
  /** The nodes from the root to the pattern, and to the matched text. */
  readonly pattern: readonly Node[]
  readonly text: readonly Node[]
}

type Slow = Extract<RegExpVerdict, { degree: number }>

const isSlow = (verdict: RegExpVerdict): verdict is Slow => 'degree' in verdict

export function slowRegExpAt(
  unit: FunctionUnit,
  call: CallSite,
  origins: OriginFinder,
  roots: RootFinder,
  evaluator: Evaluator,
): Blocking | undefined {
  const use = useAt(call)
  if (use === undefined) return undefined
  const { file } = unit
  const expression = use.pattern.at(-1) as Expression
  const slow = (pattern: FoldedPattern): Blocking | undefined =>
    slowPatternAt(pattern, use.text, unit, call, origins, roots)
  const folded = foldPattern(file, use.pattern)
  if (folded !== undefined) {
    const found = slow(folded)
    if (found === undefined && !mayBeAnother(folded, file, expression)) return undefined
    if (folded.assumes?.every((one) => isAssignedOnce(one.file, one.name)) === true) return found
  }
  const built = evaluated(file, expression, evaluator)
  return built === undefined ? undefined : slow(built)
}

/**
 * If an assumption is wrong, the module may still be found to build a pattern; but not if the name
 * itself is assigned twice.
 */
function mayBeAnother({ assumes = [] }: FoldedPattern, file: FileUnit, used: Expression): boolean {
  const root = rootName(used)
  return assumes.some((one) => one.file !== file || one.name !== root)
}

/** Questions are asked in the order of their cost: most patterns cannot be slow at all. */
function slowPatternAt(
  pattern: FoldedPattern,
  text: readonly Node[],
  unit: FunctionUnit,
  call: CallSite,
  origins: OriginFinder,
  roots: RootFinder,
): Blocking | undefined {
  const { source, flags } = pattern
  if (!mayRepeatEndlessly(source) || isNeverSlow(source, flags)) return undefined
  const origin = origins.originOf(unit.file, text)
  if (origin.kind === 'bounded') return undefined
  const verdict = regExpVerdict(source, flags, {
    withoutControl: origin.kind === 'source' && !origin.hasControl,
    // The input is not chosen outside: then searching is usual.
    withoutSearch: origin.kind === 'unknown',
  })
  if (!isSlow(verdict)) return undefined
  const route = roots.routeTo(unit)
  const level = levelOf(verdict, origin, route)
  const what = `/${shorten(source)}/${flags}`
  const { prefix, pump, suffix } = verdict.attack
  return {
    rule: ruleOfId('B105'),
    level,
    unit,
    start: call.start,
    end: call.end,
    what,
    ...(pattern.at?.file === unit.file && { writtenAt: pattern.at }),
    message: `${what} takes ${growthText(verdict)} time on ${attackText({ prefix, pump, suffix })}, and its input is ${originText(origin)}; it runs`,
    route,
    evidence: [
      `the pattern was run on that text with 8, 16, 32 and 64 repetitions, and the steps grew ${verdict.kind === 'exponential' ? 'exponentially' : `with degree ${verdict.degree}`}`,
      ...(verdict.isBySearch
        ? ['it is slow because it tries every start: an anchor makes it linear']
        : []),
    ],
  }
}

function useAt(call: CallSite): Use | undefined {
  const path = pathToCall(call)
  const node = path?.at(-1)
  if (path === undefined || node?.type !== 'CallExpression') return undefined
  const callee = unwrap(node.callee)
  if (callee.type !== 'MemberExpression') return undefined
  const name = keyName(callee.property, callee.computed) ?? ''
  const [first] = node.arguments
  if (first === undefined) return undefined
  const onObject = [...path, callee, callee.object]
  const onFirst = [...path, first]
  return onPattern.has(name)
    ? { pattern: onObject, text: onFirst }
    : { pattern: onFirst, text: onObject }
}

/** A pattern that the module builds as it is loaded. Names of functions hide those of the module. */
function evaluated(
  file: FileUnit,
  expression: Expression,
  evaluator: Evaluator,
): FoldedPattern | undefined {
  const node = unwrap(expression)
  if (node.type !== 'Identifier' && node.type !== 'MemberExpression') return undefined
  const root = rootName(node)
  if (root === undefined || !isOfModule(file, root) || !isAssignedOnce(file, root)) return undefined
  const value = evaluator.valueAt(file, node)
  return isPattern(value) ? value : undefined
}

/** Asked before a module is evaluated, which takes longer: most names are of parameters. */
function isOfModule({ parsed }: FileUnit, name: string): boolean {
  if (name === 'module' || name === 'exports') return true
  return declarationOf(name, [parsed.program]) !== undefined
}

/** `re` of `re[t.X]`. */
function rootName(expression: Expression): string | undefined {
  let node = unwrap(expression)
  while (node.type === 'MemberExpression') node = unwrap(node.object)
  return node.type === 'Identifier' ? node.name : undefined
}

function levelOf(verdict: Slow, origin: Origin, route: Route | undefined): Level {
  const isUrgent = route !== undefined && !isCold(route.kind)
  if (verdict.kind === 'exponential') {
    if (!isUrgent) return 'note'
    return origin.kind === 'source' && route.kind === 'request' ? 'error' : 'warning'
  }
  if (origin.kind === 'unknown') return 'note'
  if (!isUrgent) return 'note'
  if (origin.kind === 'source') return origin.isTrusted ? 'note' : 'warning'
  // Half of all patterns are quadratic in a search, and nothing shows that the caller passes text from a stranger.
  const isEveryday =
    verdict.isBySearch &&
    verdict.degree === 2 &&
    (route.kind === 'exported' || route.kind === 'exported-async')
  return isEveryday ? 'note' : 'warning'
}

function growthText({ kind, degree }: Slow): string {
  if (kind === 'exponential') return 'exponential'
  return degree === 2 ? 'quadratic' : degree === 3 ? 'cubic' : `polynomial (degree ${degree})`
}

function originText(origin: Origin): string {
  switch (origin.kind) {
    case 'source':
      return `from a ${origin.gives}`
    case 'input':
      return `what callers of ${origin.unit.name} pass as ${origin.name}, of any length`
    case 'unknown':
    case 'bounded':
      return 'not known to be short'
  }
}

/** Shortens to one line: a computed pattern may contain line ends. */
function shorten(source: string): string {
  const line = source.replaceAll('\n', '\\n').replaceAll('\r', '\\r')
  return line.length <= 60 ? line : `${line.slice(0, 40)}…${line.slice(-18)}`
}
