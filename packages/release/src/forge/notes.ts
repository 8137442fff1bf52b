import { readFile } from 'node:fs/promises'
import path from 'node:path'
import type { PlannedPackage } from '../model.ts'
import { changelogEntry } from '../version/changelog.ts'

/**
 * What is new in a version: the entry of its changelog, else the changes that the plan knows.
 *
 * *Cancellation*: none; it reads one file of this machine.
 */
export async function notesOf(planned: PlannedPackage): Promise<string> {
  const file = path.join(planned.package.folder, 'CHANGELOG.md')
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return ''
    throw error
  })
  return (
    entryOf(text, planned.version) ?? changelogEntry(planned).split('\n').slice(1).join('\n').trim()
  )
}

/** The lines below the heading of a version, up to the next heading of the same kind. */
export function entryOf(changelog: string, version: string): string | undefined {
  const lines = changelog.replaceAll('\r\n', '\n').split('\n')
  const headings = /^(#{1,3})\s+\[?v?(\d[^\s\])]*)/
  const start = lines.findIndex((line) => headings.exec(line)?.[2] === version)
  if (start < 0) return undefined
  const depth = headings.exec(lines[start]!)![1]!.length
  const rest = lines.slice(start + 1)
  const isNext = (line: string): boolean =>
    (/^(#+)\s/.exec(line)?.[1]?.length ?? Infinity) <= depth || headings.test(line)
  const end = rest.findIndex(isNext)
  return (end < 0 ? rest : rest.slice(0, end)).join('\n').trim()
}
