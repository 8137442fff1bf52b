import { fileURLToPath } from 'node:url'
import { isOurs } from './own-frames.ts'
import { shortenPaths } from './gap.ts'

/** Where in a module an error arose. */
export interface Location {
  /** `jobs.ts:12:5`, from the current folder. */
  readonly at: string
  /** The line and a mark below the place, where Node gives them. */
  readonly excerpt: readonly string[]
}

const atLine = /^(file:\/\/\S+|\/.+|[A-Za-z]:\\.+):(\d+)$/

/**
 * Where an error of an import arose.
 *
 * Node writes the place of a syntax error above the stack, and that of everything else into its first
 * frame; frames of Node itself say nothing about the module.
 */
export function locate(error: unknown): Location | undefined {
  if (!(error instanceof Error) || error.stack === undefined) return undefined
  const lines = error.stack.split('\n')
  const [, file, line] = atLine.exec(lines[0] ?? '') ?? []
  if (file !== undefined) {
    const end = lines.findIndex((text) => /^\s*\w*Error\b/.test(text))
    const excerpt = lines.slice(1, end).filter((text) => text.trim() !== '')
    return { at: shortenPaths(`${toPath(file)}:${line}`), excerpt }
  }
  for (const text of lines) {
    const frame = /^\s+at (?:.*\()?(file:\/\/[^)]+|\/[^)]+|[A-Za-z]:\\[^)]+):(\d+):(\d+)\)?$/.exec(
      text,
    )
    if (frame === null || isOurs(frame[1]!)) continue
    return { at: shortenPaths(`${toPath(frame[1]!)}:${frame[2]}:${frame[3]}`), excerpt: [] }
  }
  return undefined
}

function toPath(file: string): string {
  return file.startsWith('file:') ? fileURLToPath(file) : file
}
