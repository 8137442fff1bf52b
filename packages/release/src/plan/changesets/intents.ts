/** The files in `.changeset/` in which people describe their changes, and the prerelease they are in. */
import { readdir } from 'node:fs/promises'
import path from 'node:path'
import { suggest } from '@heddle/core/lowlevel'
import type { Workspace } from '../../model.ts'
import { parseText, readDocument, readText } from '../../workspace/documents.ts'
import { mapLimited, readsAtOnce } from '../../workspace/limited.ts'
import { compareText, type Problems } from '../../workspace/workspace-problems.ts'
import type { Bump } from '../versions.ts'

export interface Intent {
  readonly id: string
  readonly file: string
  readonly bumps: ReadonlyMap<string, Bump>
  /** The first line of its text. */
  readonly summary: string
  /** All that was written about it. */
  readonly text: string
  /** Whether an earlier prerelease has been made of it. */
  readonly isUsed: boolean
}

export interface PreState {
  /** `exit`: the next release is the one that the prereleases led to. */
  readonly mode: 'pre' | 'exit'
  readonly tag: string
}

export interface Intents {
  readonly intents: readonly Intent[]
  readonly pre: PreState | undefined
}

/** Files that explain the folder to people and tools. */
const notIntents = /^(?:readme|agents|claude|gemini)\.md$/i

async function markdownIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return []
    throw error
  })
  return entries
    .filter((name) => name.endsWith('.md') && !name.startsWith('.') && !notIntents.test(name))
    .toSorted(compareText)
    .map((name) => path.join(folder, name))
}

/**
 * Reads all of them, sorted by name. Changesets 3 moves the ones of earlier prereleases to
 * `.changeset/pre/`; before that they were listed in `pre.json`.
 *
 * *Cancellation*: nothing is left behind.
 * *Fairness*: files are read in their order, 16 at a time.
 */
export async function readIntents(
  workspace: Workspace,
  problems: Problems,
  signal?: AbortSignal,
): Promise<Intents> {
  const folder = path.join(workspace.root, '.changeset')
  const { pre, used } = await readPre(path.join(folder, 'pre.json'), problems)
  const files = [...(await markdownIn(folder)), ...(await markdownIn(path.join(folder, 'pre')))]
  const read = await mapLimited(
    files,
    readsAtOnce,
    async (file) => {
      const text = await readText(file, problems)
      const id = path.basename(file, '.md')
      const isUsed = path.dirname(file) !== folder || used.has(id)
      return text === undefined
        ? undefined
        : parseIntent(id, file, text, isUsed, workspace, problems)
    },
    signal,
  )
  return { intents: read.filter((intent) => intent !== undefined), pre }
}

async function readPre(
  file: string,
  problems: Problems,
): Promise<{ pre: PreState | undefined; used: Set<string> }> {
  const document = await readDocument(file, problems)
  if (document === undefined) return { pre: undefined, used: new Set() }
  const { mode, tag, changesets } = document.fields
  const used = new Set(Array.isArray(changesets) ? changesets.map(String) : [])
  if ((mode === 'pre' || mode === 'exit') && typeof tag === 'string' && tag !== '')
    return { pre: { mode, tag }, used }
  problems.add({
    file,
    line: document.lineOf('mode'),
    problem: 'it has no `mode` and `tag`',
    todo: 'Run `changeset pre enter TAG` again.',
  })
  return { pre: undefined, used }
}

const bumps: readonly unknown[] = ['major', 'minor', 'patch', 'none'] satisfies Bump[]

function parseIntent(
  id: string,
  file: string,
  text: string,
  isUsed: boolean,
  workspace: Workspace,
  problems: Problems,
): Intent | undefined {
  const [, above, front, body] =
    /^(\s*)---[^\S\n]*\n([^]*?)^[^\S\n]*---[^\S\n]*$([^]*)/m.exec(text) ?? []
  if (above === undefined || front === undefined || body === undefined) {
    problems.add({
      file,
      line: 1,
      problem: 'it does not start with a part between two lines `---`',
      todo: 'Write `"name": patch` between them, or delete the file.',
    })
    return undefined
  }
  // Empty lines in place of removed ones, so that the lines of mistakes are those of the file.
  const skipped = '\n'.repeat(above.split('\n').length)
  const document = parseText(file, skipped + front, problems, 'yaml')
  if (document === undefined) return undefined
  const found = new Map<string, Bump>()
  for (const [name, bump] of Object.entries(document.fields)) {
    const refuse = (problem: string, todo: string): void => {
      problems.add({ file, line: document.lineOf(name), problem, todo })
    }
    if (!bumps.includes(bump)) {
      refuse(
        `"${name}" has the change ${JSON.stringify(bump)}`,
        'Write major, minor, patch or none.',
      )
    } else if (!workspace.packages.has(name)) {
      const similar = suggest(name, workspace.packages.keys())
      refuse(
        `the workspace has no package "${name}"`,
        similar === undefined
          ? 'Correct the name or take the line out.'
          : `Did you mean "${similar}"?`,
      )
    } else {
      found.set(name, bump as Bump)
    }
  }
  const written = body.trim()
  return { id, file, bumps: found, summary: written.split('\n')[0]!.trim(), text: written, isUsed }
}
