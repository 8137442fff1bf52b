/** Where the directives of a file are, and for which lines they hold. */
import type { SourceSpan } from '../finding.ts'
import { parseSource } from '../frontend/parse.ts'
import { LineIndex } from '../report/line-index.ts'
import { parseDirective, type Directive } from './directive.ts'
import { lastLineOf } from './extent.ts'

export interface PlacedDirective extends Directive {
  readonly span: SourceSpan
  /** The line of the comment, and the lines of the code after it: of one statement, or of its head. */
  readonly own: number
  readonly below: readonly [first: number, last: number]
}

/** Most files have none, and are not parsed for it. */
export function directivesIn(file: string, text: string): PlacedDirective[] {
  if (!text.includes('heddle-ignore')) return []
  const parsed = parseSource(file, text)
  const index = new LineIndex(text)
  const commentLines = new Set<number>()
  for (const { start, end } of parsed.comments) {
    const { line } = parsed.lineAt(start)
    for (let each = line; each <= parsed.lineAt(end).line; each++) commentLines.add(each)
  }
  const found: PlacedDirective[] = []
  for (const comment of parsed.comments) {
    const directive = parseDirective(comment.value)
    if (directive === undefined) continue
    const from = parsed.lineAt(comment.start)
    const to = parsed.lineAt(comment.end)
    const span: SourceSpan = {
      file,
      line: from.line,
      column: from.column,
      endLine: to.line,
      endColumn: to.column,
    }
    const next = nextCode(index, to.line, commentLines)
    found.push({
      ...directive,
      span,
      own: from.line,
      below: [next, lastLineOf(parsed, next)],
    })
  }
  return found
}

/** A directive may stand above other comments: they belong to the same code. */
function nextCode(index: LineIndex, line: number, comments: ReadonlySet<number>): number {
  let next = line + 1
  while (comments.has(next) && isOnlyComment(index.line(next))) next++
  return next
}

/** A comment of its own, as `//`, as a block or in JSX braces. */
function isOnlyComment(line: string): boolean {
  return /^\s*(?:\{\s*)?(?:\/\/|\/\*|\*)/.test(line)
}
