/**
 * Pages whose commands a test types: fences marked `console`, with `$ ` before each command and its output below it.
 */
import { readFileSync } from 'node:fs'
import path from 'node:path'

export const root: string = path.resolve(import.meta.dirname, '../../../..')

export interface TypedCommand {
  readonly line: string
  readonly output: readonly string[]
}

export class ConsolePage {
  readonly #text: string

  /** @param page from the root of the repository. */
  constructor(page: string) {
    this.#text = readFileSync(path.join(root, page), 'utf8')
  }

  /** The commands of all fences, in order. */
  get commands(): readonly TypedCommand[] {
    const fences = this.#text.matchAll(/^```console\n([^]*?)^```$/gm)
    const lines = Array.from(fences, ([, text]) => text!)
      .join('')
      .trimEnd()
      .split('\n')
    const found: { line: string; output: string[] }[] = []
    for (const line of lines) {
      if (line.startsWith('$ ')) found.push({ line: line.slice(2), output: [] })
      else found.at(-1)!.output.push(line)
    }
    return found
  }

  /** The code of the fences whose first line is `// NAME`, also with `, continued` behind it. */
  fences(name: string): readonly string[] {
    const starts = this.#text.matchAll(/^```ts\n(\/\/ [^]*?)^```$/gm)
    return Array.from(starts, ([, code]) => code!).filter((code) => {
      const first = code.split('\n', 1)[0]!
      return first === `// ${name}` || first.startsWith(`// ${name},`)
    })
  }
}

/** Matches the lines of an output; `…` stands for anything. */
export function patternOf(output: readonly string[]): RegExp {
  return new RegExp(`^${output.map(lineSource).join('\\n')}\\n?$`)
}

/** Matches one line somewhere in an output; `…` stands for anything. */
export function linePatternOf(line: string): RegExp {
  return new RegExp(`^${lineSource(line)}$`, 'm')
}

function lineSource(line: string): string {
  const parts = line.split('…').map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'))
  return parts.join('.*')
}
