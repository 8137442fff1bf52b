/** `heddle runs artifacts`: lists the files that jobs of a run have left, and saves them. */
import { createWriteStream } from 'node:fs'
import { link, mkdir, rename, rm } from 'node:fs/promises'
import path from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { HeddleError, type ArtifactInfo } from '@heddle/core'
import { suggest, type ArtifactStore } from '@heddle/core/lowlevel'
import { exitCodes, type ExitCode } from '../exit-codes.ts'
import { plural } from '../view/format.ts'
import { span, type Line } from '../view/line.ts'
import { printable } from '../view/text.ts'
import { findRun } from './find-run.ts'
import { look, type LookSettings, type Surface } from './look.ts'
import { formatBytes } from './prune.ts'
import { table } from './table.ts'

export interface ArtifactsSettings extends LookSettings {
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
  return look(settings, async (surface): Promise<ExitCode> => {
    const { journal, json, address } = surface
    const { id } = await findRun(journal, settings.run)
    const store = journal.artifacts
    const found = store === undefined ? [] : choose(await store.list(id), id, settings.names)
    const { save } = settings
    const saved: string[] = []
    for (const artifact of save === undefined ? [] : found) {
      saved.push(await saveOne(store!, artifact, save!, settings.force))
    }
    if (json) {
      const artifacts = found.map((each, index) => ({
        ...each,
        ...(saved[index] !== undefined && { file: saved[index] }),
      }))
      surface.answer({ ok: true, journal: address, run: id, artifacts })
    } else
      surface.tell(save === undefined ? listLines(found, id, surface) : savedLines(saved, save))
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
 * The file that an artifact is saved as, inside of the folder. A name may look like a path, also like one that leads out of
 * the folder or to another drive: each of its parts becomes a plain name.
 */
export function fileFor(folder: string, name: string): string {
  const parts = name
    .split(/[/\\]+/)
    .map((part) => part.replaceAll(/[<>:"|?*\p{Cc}]/gu, '_').replace(/[. ]+$/, ''))
    .filter((part) => part !== '')
  return path.join(folder, ...(parts.length === 0 ? ['artifact'] : parts))
}

async function saveOne(
  store: ArtifactStore,
  { run, name }: ArtifactInfo,
  folder: string,
  force: boolean,
): Promise<string> {
  const target = fileFor(folder, name)
  const draft = `${target}.${process.pid}.draft`
  await using opened = await store.open(run, name)
  try {
    await mkdir(path.dirname(target), { recursive: true })
    await pipeline(Readable.from(opened.bytes), createWriteStream(draft, { flags: 'wx' }))
    if (force) await rename(draft, target)
    // Unlike rename() it refuses a name that is there.
    else await link(draft, target)
    return target
  } catch (error) {
    throw asSaveError(error, target)
  } finally {
    await rm(draft, { force: true })
  }
}

function asSaveError(error: unknown, target: string): unknown {
  if (error instanceof HeddleError) return error
  const { code, message } = error as NodeJS.ErrnoException
  const cause = code === 'EEXIST' ? 'it exists; --force replaces it' : message
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
