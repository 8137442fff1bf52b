/** A report in the format that was asked for. */
import { pathToFileURL } from 'node:url'
import {
  compactReport,
  githubReport,
  jsonReport,
  markdownReport,
  sarifReport,
  summaryLines,
  textReport,
  type Report,
  type TextOptions,
} from '@heddle/analyze'
import { paint, type Line } from '../text/line.ts'
import { printable, truncate, widthOf } from '../text/terminal-text.ts'
import type { Format } from './choices.ts'

export interface RenderOptions {
  readonly text: TextOptions
  readonly color: boolean
  /** The version of this program. */
  readonly version: string
  /** The root folder of the analysis, absolute. */
  readonly root: string
}

/** Where there is no terminal, prose is wrapped as in one of the usual width. */
const usualColumns = 100

/** With fewer columns nothing can be read. */
const fewestColumns = 40

/** How the analyzer lays out lines for this terminal. */
export function textOptions(columns: number | undefined, unicode: boolean): TextOptions {
  const ellipsis = unicode ? '…' : '~'
  return {
    measure: {
      printable,
      widthOf,
      truncate: (text, room) => truncate(text, room, ellipsis),
    },
    columns: Math.max(fewestColumns, columns ?? usualColumns),
    isTerminal: columns !== undefined,
    unicode,
  }
}

/** The whole answer, with its last line end. */
export function render(report: Report, format: Format, options: RenderOptions): string {
  switch (format) {
    case 'text':
      return painted(textReport(report, options.text), options.color)
    case 'compact':
      return `${compactReport(report).join('\n')}\n`
    case 'markdown':
      return markdownReport(report)
    case 'github':
      // Lines that are not commands are shown in the log.
      return [...githubReport(report), painted(summaryLines(report), false)].join('\n')
    case 'json':
      // Prints on one line: the last line of the output is the document.
      return `${JSON.stringify(jsonReport(report))}\n`
    case 'sarif': {
      const rootUrl = pathToFileURL(`${options.root}/`).href
      return `${JSON.stringify(sarifReport(report, { version: options.version, rootUrl }), null, 2)}\n`
    }
  }
}

export function painted(lines: readonly Line[], color: boolean): string {
  return lines.map((line) => `${paint(line, color)}\n`).join('')
}
