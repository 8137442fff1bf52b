/** `heddle runs artifacts`: lists the files that jobs of a run have left, and saves them. */
import { createWriteStream } from 'node:fs'
import { link, lstat, mkdir, rename, rm } from 'node:fs/promises'
import path from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { HeddleError, type ArtifactInfo } from '@heddle/core'
import { suggest, type ArtifactStore } from '@heddle/core/lowlevel'
import { exitCodes, type ExitCode } from '../exit-codes.ts'
import { formatBytes, plural } from '../text/format.ts'
import { span, type Line } from '../text/line.ts'
import { printable } from '../text/terminal-text.ts'
import { findNamedRun } from '../journal/find-named-run.ts'
import { withJournal, type JournalCommandSettings, type Surface } from './with-journal.ts'
import { table } from './column-table.ts'

export interface ArtifactsSettings extends JournalCommandSettings {
  readonly run: string
  /** Only these. All when there are none. */
  readonly names: readonly string[]
  /** The folder to save them in. */
  readonly save: string | undefined
  /** Whether files that are there are replaced. */
  readonly force: boolean
}

/** *Cancellation*: none; a file that is being saved when the process ends is not there under its name. */
export function showArtifacts(settings: ArtifactsSettings): Promise<void> {
  return withJournal(settings, async (surface): Promise<ExitCode> => {
    const { journal, json, address } = surface
    const { id } = await findNamedRun(journal, settings.run)
    const store = journal.artifacts
    const all = store === undefined ? [] : await store.list(id)
    const found = choose(all, id, settings.names)
    const { save } = settings
    const saved = save === undefined ? [] : await saveAll(store, all, found, { ...settings, save })
    if (json) {
      const artifacts = found.map((each, index) => ({
        ...each,
        ...(saved[index] !== undefined && { file: saved[index] }),
      }))
      surface.answer({ ok: true, journal: address, run: id, artifacts })
    } else
      surface.printLines(
        save === undefined ? listLines(found, id, surface) : savedLines(saved, save),
      )
    return exitCodes.ok
  })
}

/** @throws `HDL_UNKNOWN_ARTIFACT` for a name that the run has none of. */
function choose(
  all: readonly ArtifactInfo[],
  run: string,
  names: readonly string[],
): readonly ArtifactInfo[] {
  if (names.length === 0) return all
  return names.map((name) => {
    const found = all.find((each) => each.name === name)
    if (found !== undefined) return found
    const near = suggest(
      name,
      all.map((each) => each.name),
    )
    const hint = near === undefined ? '' : ` (did you mean "${near}"?)`
    throw new HeddleError('HDL_UNKNOWN_ARTIFACT', { run, artifact: `${name}${hint}` })
  })
}

/**
 * The file of each artifact, inside of the folder. A name may look like a path, also like one that leads out of the
 * folder or to another drive: each of its parts becomes a plain name. No two artifacts have the same file, also where a
 * disk takes `A` and `a` for one name, and none is at the place of a folder: the later one gets a number.
 */
export function filesFor(folder: string, names: readonly string[]): ReadonlyMap<string, string> {
  const paths = names.map((name): readonly [string, readonly string[]] => [name, partsOf(name)])
  const taken = new Set<string>()
  for (const [, parts] of paths) {
    for (let depth = 1; depth < parts.length; depth++) taken.add(diskName(parts.slice(0, depth)))
  }
  const files = new Map<string, string>()
  for (const [name, parts] of paths) {
    let free = parts
    for (let number = 2; taken.has(diskName(free)); number++) free = withNumber(parts, number)
    taken.add(diskName(free))
    files.set(name, path.join(folder, ...free))
  }
  return files
}

function partsOf(name: string): readonly string[] {
  const parts = name
    .split(/[/\\]+/)
    .map((part) => part.replaceAll(/[<>:"|?*\p{Cc}]/gu, '_').replace(/[. ]+$/, ''))
    .filter((part) => part !== '')
  return parts.length === 0 ? ['artifact'] : parts
}

/** The same for two paths that some disk takes for one. */
function diskName(parts: readonly string[]): string {
  return parts.join('/').normalize('NFC').toLowerCase()
}

/** `pages/report-2.html`. */
function withNumber(parts: readonly string[], number: number): readonly string[] {
  const { name, ext } = path.parse(parts.at(-1)!)
  return [...parts.slice(0, -1), `${name}-${number}${ext}`]
}

/**
 * Saves artifacts, each in a file of its own whatever the names are. Looks for files that are there before it writes any.
 */
async function saveAll(
  store: ArtifactStore | undefined,
  all: readonly ArtifactInfo[],
  chosen: readonly ArtifactInfo[],
  { save, force }: { readonly save: string; readonly force: boolean },
): Promise<string[]> {
  const files = filesFor(
    save,
    all.map(({ name }) => name),
  )
  const targets = chosen.map((artifact) => ({ artifact, file: files.get(artifact.name)! }))
  for (const { file } of force ? [] : targets) if (await exists(file)) throw fileExists(file)
  const saved: string[] = []
  for (const { artifact, file } of targets) {
    await saveOne(store!, artifact, file, force)
    saved.push(file)
  }
  return saved
}

async function exists(file: string): Promise<boolean> {
  const found = await lstat(file).catch(() => undefined)
  return found !== undefined
}

function fileExists(file: string): HeddleError {
  const expected = 'a folder without this file, or --force, which replaces it'
  return new HeddleError('HDL_BAD_OPTION', { option: 'save', value: file, expected })
}

async function saveOne(
  store: ArtifactStore,
  { run, name }: ArtifactInfo,
  target: string,
  force: boolean,
): Promise<void> {
  const draft = `${target}.${process.pid}.draft`
  await using opened = await store.open(run, name)
  try {
    await mkdir(path.dirname(target), { recursive: true })
    await pipeline(Readable.from(opened.bytes), createWriteStream(draft, { flags: 'wx' }))
    if (force) await rename(draft, target)
    // Unlike rename() it refuses a name that is there.
    else await link(draft, target)
  } catch (error) {
    throw asSaveError(error, target)
  } finally {
    await rm(draft, { force: true })
  }
}

function asSaveError(error: unknown, target: string): unknown {
  if (error instanceof HeddleError) return error
  const { code, syscall, message: cause } = error as NodeJS.ErrnoException
  if (code === 'EEXIST' && syscall === 'link') return fileExists(target)
  return new HeddleError('HDL_STORE_FAILED', { store: target, action: 'be saved', cause })
}

function listLines(found: readonly ArtifactInfo[], run: string, surface: Surface): Line[] {
  if (found.length === 0) return [[span(`Run ${run} has no artifacts.`)]]
  const bytes = found.reduce((sum, { length }) => sum + length, 0)
  const rows = found.map(({ name, length, by, sha256 }): Line[] => [
    [span(printable(name))],
    [span(formatBytes(length))],
    [span(printable(by))],
    [span(sha256, 'dim')],
  ])
  return [
    ...table(
      [
        { title: 'artifact' },
        { title: 'size', align: 'right' },
        { title: 'by' },
        { title: 'sha-256' },
      ],
      rows,
      surface,
    ),
    [
      span(
        `${plural(found.length, 'artifact')}, ${formatBytes(bytes)}. --save FOLDER saves them.`,
        'dim',
      ),
    ],
  ]
}

function savedLines(saved: readonly string[], folder: string): Line[] {
  const lines = saved.map((file): Line => [span(printable(file))])
  return [...lines, [span(`Saved ${plural(saved.length, 'artifact')} in ${printable(folder)}.`)]]
}
