/**
 * Loops that can only end by something that cannot happen while they run: waiting for the clock,
 * waiting for a flag that the loop does not set, trying again without a limit and without a pause.
 *
 * Candidates are found in the text and then checked in the tree, because loops are rarely one of
 * these and walking every tree for them is dear.
 */
import type { Node } from 'oxc-parser'
import type { FileUnit, FunctionUnit } from '../ir/program.ts'
import { levelByReach } from './make-finding.ts'
import type { Blocking } from './make-finding.ts'
import type { RootFinder } from './roots.ts'
import { ruleOfId } from './rules.ts'
import { isFunction, isLoop, pathTo, walk } from './syntax.ts'

const candidate =
  /\bwhile\s*\((?:[^()]|\([^()]*\))*(?:Date\.now|performance\.now|hrtime|getTime)|\b(?:while\s*\(\s*(?:true|1|!0|![\w$.]+)\s*\)|for\s*\(\s*;\s*;\s*\))/y

/** Generated code may have more of them, and is not repaired by hand. */
const maxCandidates = 500

export function* busyLoopsIn(file: FileUnit, roots: RootFinder): Generator<Blocking> {
  for (const index of candidatesIn(file.parsed.text)) {
    const path = pathTo(file.parsed.program, { start: index, end: index + 5 })
    const loop = path.findLast((node) => isLoop(node) && node.start === index)
    const unit = loop === undefined ? undefined : unitAround(file, loop)
    if (loop === undefined || unit === undefined || !roots.isOnLoop(unit)) continue
    const reason = reasonFor(loop, file.parsed.text)
    if (reason === undefined) continue
    const route = roots.routeTo(unit)
    const end = Math.min(loop.end, file.parsed.text.indexOf(')', index) + 1 || loop.end)
    yield {
      rule: ruleOfId('B108'),
      level: levelByReach(route),
      unit,
      start: index,
      end,
      what: file.parsed.text.slice(index, end).replace(/\s+/g, ' '),
      message: `a loop ${reason} and never gives the event loop back; it runs`,
      route,
      evidence: [],
    }
  }
}

/** Where they start. Their words are searched one by one: that is several times as fast as a pattern. */
function candidatesIn(text: string): readonly number[] {
  const starts: number[] = []
  for (const word of ['while', 'for']) {
    for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + word.length)) {
      candidate.lastIndex = at
      if (candidate.test(text)) starts.push(at)
    }
  }
  return starts.sort((a, b) => a - b).slice(0, maxCandidates)
}

function unitAround(file: FileUnit, { start, end }: Node): FunctionUnit | undefined {
  let inner: FunctionUnit | undefined
  for (const unit of file.units) {
    if (unit.start > start || unit.end < end) continue
    if (inner === undefined || unit.start >= inner.start) inner = unit
  }
  return inner
}

function reasonFor(loop: Node, text: string): string | undefined {
  const facts = factsOf(loop)
  if (facts.suspends || !('body' in loop)) return undefined
  const test = 'test' in loop && loop.test !== null ? (loop.test as Node) : undefined
  const testText = test === undefined ? 'true' : text.slice(test.start, test.end)
  const bodyText = text.slice((loop.body as Node).start, (loop.body as Node).end)
  if (/Date\.now|performance\.now|hrtime|getTime/.test(testText)) {
    // Work that stops at a deadline is not a wait: then the body does something.
    return facts.calls === 0 || /^\{?\s*\}?;?$/.test(bodyText) ? 'waits for the clock' : undefined
  }
  const flag = /^!([\w$.]+)$/.exec(testText)?.[1]
  if (flag !== undefined) {
    return facts.calls === 0 &&
      !bodyText.includes(flag.split('.').at(-1) as string) &&
      !facts.leaves
      ? `waits until ${flag} is set by other code`
      : undefined
  }
  return facts.isRetry && !/\+\+|\+= ?1|--|-= ?1/.test(bodyText)
    ? 'tries again without a limit and without a pause'
    : undefined
}

interface LoopFacts {
  readonly suspends: boolean
  readonly leaves: boolean
  readonly calls: number
  readonly isRetry: boolean
}

/** A retry: the loop is left only from a `try` whose handler swallows the error and goes round. */
function factsOf(loop: Node): LoopFacts {
  let suspends = false
  let leaves = false
  let calls = 0
  let tried: Node | undefined
  walk(loop, (node) => {
    if (node !== loop && isFunction(node)) return false
    if (node.type === 'AwaitExpression' || node.type === 'YieldExpression') suspends = true
    if (node.type === 'ForOfStatement' && node.await) suspends = true
    if (node.type === 'BreakStatement' || node.type === 'ReturnStatement') leaves = true
    if (node.type === 'CallExpression' || node.type === 'NewExpression') calls += 1
    if (node.type === 'TryStatement' && node.handler !== null) {
      if (leavesFrom(node.block) && !leavesFrom(node.handler.body)) tried ??= node.block
    }
    return undefined
  })
  const isRetry = tried !== undefined && !leavesFrom(loop, tried)
  return { suspends, leaves, calls, isRetry }
}

/** A statement inside leads out of it; `except` is not looked into. */
function leavesFrom(root: Node, except?: Node): boolean {
  let found = false
  walk(root, (node) => {
    if (isFunction(node) || node === except) return false
    if (/^(?:Break|Return|Throw)Statement$/.test(node.type)) found = true
    return undefined
  })
  return found
}
