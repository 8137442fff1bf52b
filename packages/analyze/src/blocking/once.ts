/**
 * Work that is done once and then kept: `cache ??= read()`, `if (!this.x) this.x = read()`, an entry of
 * a map that was looked up before. It holds the loop for the first caller only.
 */
import type { Node } from 'oxc-parser'
import { escapePattern } from '../escape-pattern.ts'
import type { FunctionUnit } from '../ir/program.ts'

export function isDoneOnce(path: readonly Node[], unit: FunctionUnit): boolean {
  const { text } = unit.file.parsed
  const assignment = path.findLast((node) => node.type === 'AssignmentExpression')
  if (assignment?.type === 'AssignmentExpression') {
    if (/^(?:\?\?|\|\|)=$/.test(assignment.operator)) return true
    const target = text.slice(assignment.left.start, assignment.left.end).replace(/\s+/g, '')
    const isLasting = !isLocal(target, unit)
    if (isLasting && isTestedAround(path, target, text)) return true
    if (isLasting && isReturnedBefore(unit, target, assignment.start)) return true
  }
  return false
}

/** Declared inside the function itself, so that it is gone with it. */
function isLocal(target: string, unit: FunctionUnit): boolean {
  if (/[.[]/.test(target)) return false
  const body = unit.file.parsed.text.slice(unit.start, unit.end)
  return new RegExp(`\\b(?:let|var|const)\\s[^;]*?\\b${escapePattern(target)}\\b`).test(body)
}

function isTestedAround(path: readonly Node[], target: string, text: string): boolean {
  return path.some(
    (node) =>
      node.type === 'IfStatement' &&
      text.slice(node.test.start, node.test.end).replace(/\s+/g, '').includes(target),
  )
}

/** `if (cached) return cached` above the assignment. */
function isReturnedBefore(unit: FunctionUnit, target: string, position: number): boolean {
  const before = unit.file.parsed.text.slice(unit.start, position).replace(/\s+/g, ' ')
  const name = escapePattern(target)
  return new RegExp(`if \\([^)]*${name}[^{;]*\\{? ?return ${name}`).test(before)
}
