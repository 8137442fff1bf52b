/** Lines before they are coloured, so that their width can be counted. */

export type Style = 'bold' | 'dim' | 'red' | 'yellow' | 'cyan' | 'green' | 'blue' | 'magenta'

export interface Span {
  readonly text: string
  readonly style?: Style | Style[]
}

export type Line = readonly Span[]

/** How the terminal counts. Source text is untrusted: all of it goes through `printable`. */
export interface Measure {
  readonly printable: (text: string) => string
  readonly widthOf: (text: string) => number
  readonly truncate: (text: string, columns: number) => string
}

export interface TextOptions {
  readonly measure: Measure
  /** Width of the terminal, or the width for prose where there is none. */
  readonly columns: number
  /** Whether a line that does not fit is cut: true for terminals. */
  readonly isTerminal: boolean
  readonly unicode: boolean
}

export function span(text: string, style?: Span['style']): Span {
  return style === undefined ? { text } : { text, style }
}

export function pad(text: string, columns: number, { widthOf }: Measure): string {
  return text + ' '.repeat(Math.max(0, columns - widthOf(text)))
}

/** The words of a text in lines of at most `columns`; a longer word has a line of its own. */
export function wrap(text: string, columns: number, { printable, widthOf }: Measure): string[] {
  const lines: string[] = []
  for (const paragraph of text.split('\n')) {
    let line = ''
    for (const word of printable(paragraph).split(' ')) {
      const longer = line === '' ? word : `${line} ${word}`
      if (line !== '' && widthOf(longer) > columns) {
        lines.push(line)
        line = word
      } else line = longer
    }
    lines.push(line)
  }
  return lines
}

/** `label` in front of the first line of a wrapped text, and nothing but room in front of the others. */
export function labelled(label: Span, text: string, options: TextOptions): Line[] {
  const indent = options.measure.widthOf(label.text)
  const room = Math.max(20, options.columns - indent)
  return wrap(text, room, options.measure).map((line, i) =>
    i === 0 ? [label, span(line)] : [span(' '.repeat(indent) + line)],
  )
}
