/**
 * Changing several files of a repository and committing them, so that kill -9 at any moment leaves
 * something that the same command finishes.
 *
 *   (nothing) ──note──▶ intended ──each file──▶ written ──git commit──▶ committed ──▶ (nothing)
 *                          └───────── the next command resumes here ────────┘
 *
 * The note `version.json` beside the journal holds every file with its hash before and its whole text
 * after the change. Why a note and not the commit alone: between the first changed file and the commit
 * the work tree is dirty, and only the note distinguishes that from edits of the user.
 *
 * Invariants, quoted by the tests:
 *  WF1  No file is changed before the note is durable; the note is removed after the commit.
 *  WF2  A file is changed only from the text that was read to the text that was noted. Any other text is an edit of
 *       the user: HDL_VERSION_EDITED, and nothing is overwritten.
 *  WF3  There is one commit for one note, also when the process dies between commit and removal.
 *  WF4  Temporary files of a process that was killed while it wrote are removed: the tree is clean.
 *  WF5  A note is finished in the folder that it was made in: all work trees and workspaces of a repository share it.
 */
import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, realpath, rm } from 'node:fs/promises'
import path from 'node:path'
import { HeddleError, isError } from '@heddle/core'
import { writeAtomic, type WaitOptions } from '@heddle/core/lowlevel'
import { Repository } from '../git/repository.ts'
import type { ReleaseFolder } from '../lock/release-folder.ts'

export interface FileChange {
  /** From the root of the workspace, with `/`. */
  readonly file: string
  /** SHA-256 of the file as it was read; null where there was no file. */
  readonly before: string | null
  /** null removes the file. */
  readonly after: string | null
}

export interface VersionNote {
  /** The root of the workspace, without symbolic links. Absent in notes of older versions. */
  readonly root?: string
  /** The commit that was read; null outside of a repository. */
  readonly base: string | null
  /** The message of the commit; null commits nothing. */
  readonly message: string | null
  readonly files: readonly FileChange[]
}

export interface Finished {
  /** Where the files are. */
  readonly root: string
  /** The new commit, where there is one. */
  readonly commit: string | undefined
  readonly files: readonly string[]
}

export interface FinishOptions {
  /** Changes nothing: unfinished work is an error then. */
  readonly dryRun?: boolean | undefined
  /** The first line of the commit, in place of the noted one: a hook may have refused that. */
  readonly message?: string | undefined
}

function withFirstLine(noted: string | null, first: string | undefined): string | null {
  if (noted === null || first === undefined) return noted
  return [first, ...noted.split('\n').slice(1)].join('\n')
}

export function hashOf(text: string | Uint8Array): string {
  return createHash('sha256').update(text).digest('hex')
}

/**
 * Notes the changes, makes them and commits them.
 *
 * *Cancellation*: ends between two files; the next call of {@link finishVersions} does the rest.
 * @throws `HDL_VERSION_EDITED`, `HDL_STORE_FAILED`, `HDL_COMMIT_REFUSED`.
 */
export async function writeVersions(
  root: string,
  folder: ReleaseFolder,
  note: VersionNote,
  wait: WaitOptions = {},
): Promise<Finished> {
  await mkdir(folder.folder, { recursive: true })
  await writeAtomic(folder.versions, JSON.stringify({ ...note, root: await realpath(root) }))
  return (await finishVersions(root, folder, wait))!
}

/**
 * Finishes the recorded work of a killed process, in the folder where it was called. Undefined when there is nothing to
 * finish. The caller holds the lock of the release.
 *
 * *Cancellation*: as {@link writeVersions}.
 */
export async function finishVersions(
  caller: string,
  folder: ReleaseFolder,
  wait: WaitOptions = {},
  { dryRun = false, message }: FinishOptions = {},
): Promise<Finished | undefined> {
  const noted = await readNote(folder)
  if (noted === undefined) return undefined
  if (dryRun) throw new HeddleError('HDL_VERSION_UNFINISHED', { intent: folder.versions })
  // WF5
  const root = await realpath(noted.root ?? caller).catch(() => undefined)
  if (root === undefined) {
    // The work tree was removed, and the files to be written with it.
    await rm(folder.versions, { force: true })
    return undefined
  }
  const note = { ...noted, message: withFirstLine(noted.message, message) }
  const files = note.files.map(({ file }) => file)
  await removeTemporaries(root, files)
  const repository = await Repository.open(root, wait)
  const head = repository?.head ?? null
  if (head !== note.base) {
    const standing = await Promise.all(note.files.map((each) => standingOf(root, each)))
    const isWritten = standing.every((each) => each === 'after')
    const changed = isWritten ? await repository?.changesOf(files, wait) : []
    // The branch was moved: the note is about a tree that is not checked out any more.
    const isObsolete = standing.every((each) => each !== 'after')
    if (!isWritten && !isObsolete) throw editedError(root, folder, note, standing)
    if (isObsolete || changed?.length === 0) {
      await rm(folder.versions, { force: true })
      return isObsolete ? undefined : { root, commit: head ?? undefined, files }
    }
  }
  for (const each of note.files) await apply(root, folder, each)
  let commit: string | undefined
  if (note.message !== null && repository !== undefined) {
    commit = await commitOnce(root, folder, repository, note, wait)
  }
  await rm(folder.versions, { force: true })
  return { root, commit, files }
}

/** WF4: as `writeAtomic` names them. Under the lock of the release no other process writes these files. */
async function removeTemporaries(root: string, files: readonly string[]): Promise<void> {
  const byFolder = Map.groupBy(files, (file) => path.dirname(path.join(root, file)))
  for (const [folder, of] of byFolder) {
    const names = new Set(of.map((file) => path.basename(file)))
    for (const found of await readdir(folder).catch(() => [])) {
      const name = /^\.(.+)\.\d+-[0-9a-z]+\.tmp$/.exec(found)?.[1]
      if (name !== undefined && names.has(name)) await rm(path.join(folder, found), { force: true })
    }
  }
}

/** WF3: the Git of a killed process may finish its commit while this one begins. */
async function commitOnce(
  root: string,
  folder: ReleaseFolder,
  repository: Repository,
  { base, message, files }: VersionNote,
  wait: WaitOptions,
): Promise<string> {
  const names = files.map(({ file }) => file)
  try {
    return await repository.commit(names, message!, wait)
  } catch (error) {
    const now = await Repository.open(root, wait)
    const isDone = now?.head !== base && (await now?.changesOf(names, wait))?.length === 0
    if (isDone && now !== undefined) return now.head
    if (!isError(error, 'HDL_COMMAND_FAILED')) throw error
    const problem = error.details.said === '' ? error.details.problem : error.details.said
    const details = { problem, intent: folder.versions }
    throw new HeddleError('HDL_COMMIT_REFUSED', details, { cause: error })
  }
}

async function readNote(folder: ReleaseFolder): Promise<VersionNote | undefined> {
  try {
    return JSON.parse(await readFile(folder.versions, 'utf8')) as VersionNote
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

type FileStanding = 'before' | 'after' | 'other'

async function standingOf(
  root: string,
  { file, before, after }: FileChange,
): Promise<FileStanding> {
  const found = await readFile(path.join(root, file)).then(
    hashOf,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return null
      throw error
    },
  )
  if (found === (after === null ? null : hashOf(after))) return 'after'
  return found === before ? 'before' : 'other'
}

/** WF2 */
async function apply(root: string, folder: ReleaseFolder, change: FileChange): Promise<void> {
  const standing = await standingOf(root, change)
  if (standing === 'after') return
  const full = path.join(root, change.file)
  if (standing === 'other') {
    throw new HeddleError('HDL_VERSION_EDITED', { path: full, intent: folder.versions })
  }
  if (change.after === null) return rm(full)
  await mkdir(path.dirname(full), { recursive: true })
  await writeAtomic(full, change.after)
}

function editedError(
  root: string,
  folder: ReleaseFolder,
  note: VersionNote,
  standing: readonly FileStanding[],
): HeddleError {
  const at = standing.findIndex((each) => each !== 'after')
  const file = path.join(root, note.files[at]!.file)
  return new HeddleError('HDL_VERSION_EDITED', { path: file, intent: folder.versions })
}
