import type { SourceSpan } from '../finding.ts'

/** The lines that editors count: U+2028 and U+2029 end a line of JavaScript as well. */
const lineEnd = /\r\n|[\n\r\u2028\u2029]/g

/** The lines of a text, found once. */
export class LineIndex {
  readonly #text: string
  /** Where each line begins and where its text ends. */
  readonly #lines: (readonly [start: number, end: number])[] = []

  constructor(text: string) {
    this.#text = text
    let start = 0
    for (const match of text.matchAll(lineEnd)) {
      this.#lines.push([start, match.index])
      start = match.index + match[0].length
    }
    this.#lines.push([start, text.length])
  }

  get count(): number {
    return this.#lines.length
  }

  /** The text of a line, counted from 1; empty where there is none. */
  line(number: number): string {
    const found = this.#lines[number - 1]
    return found === undefined ? '' : this.#text.slice(found[0], found[1])
  }

  /** The text that a span covers. */
  slice(span: SourceSpan): string {
    return this.#text.slice(
      this.#offset(span.line, span.column),
      this.#offset(span.endLine, span.endColumn),
    )
  }

  #offset(line: number, column: number): number {
    const found = this.#lines[line - 1]
    return found === undefined ? this.#text.length : Math.min(found[0] + column - 1, found[1])
  }
}
