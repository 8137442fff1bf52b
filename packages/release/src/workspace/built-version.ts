/** The version of a Python package whose build computes it (hatch-vcs, setuptools-scm), from the built metadata. */
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { isError } from '@heddle/core'
import { runCommand } from '@heddle/core/lowlevel'
import { runGit } from '../git/repository.ts'
import type { WorkspacePackage } from '../model.ts'
import { Limit } from '../pack/limit.ts'
import { findBuilder, wheelCommand } from '../pack/python/backend.ts'
import { metadataPath, parseMetadata } from '../pack/python/metadata.ts'
import { readFromZip } from '../pack/python/read-zip.ts'
import type { Problems } from './problems.ts'
import { parsePythonVersion } from './python-version.ts'

export interface BuiltVersionOptions {
  readonly signal?: AbortSignal | undefined
  readonly env?: Readonly<Record<string, string | undefined>> | undefined
}

/**
 * Builds a wheel in a clone of the repository, because such versions come from tags and commits, and reads
 * its version. Undefined when that cannot be done; `problems` says why.
 *
 * *Cancellation*: ends the build; nothing is left behind.
 */
export async function builtVersion(
  { folder, manifestFile, name }: WorkspacePackage,
  problems: Problems,
  { signal, env = process.env }: BuiltVersionOptions,
): Promise<string | undefined> {
  const wait = signal === undefined ? {} : { signal }
  using limit = new Limit(`Finding out the version of ${name}`, wait)
  const refuse = (problem: string, todo: string): undefined => {
    const before = 'its version is computed when it is built'
    problems.add({ file: manifestFile, problem: `${before}: ${problem}`, todo })
    return undefined
  }
  const builder = await findBuilder(env, limit)
  if (builder === undefined) {
    const todo =
      'Install uv (https://docs.astral.sh/uv/) or `pip install build`, or write `version = "…"` into [project].'
    return refuse('neither `uv` nor `python3 -m build` is installed here', todo)
  }
  const temporary = await mkdtemp(path.join(os.tmpdir(), 'heddle-version-'))
  try {
    const top = (await runGit(folder, ['rev-parse', '--show-toplevel'], wait)).trim()
    const prefix = (await runGit(folder, ['rev-parse', '--show-prefix'], wait)).trim()
    const [clone, out] = [path.join(temporary, 'clone'), path.join(temporary, 'dist')]
    await mkdir(out)
    await runGit(top, ['clone', '--quiet', '--shared', top, clone], wait)
    const source = path.join(clone, prefix)
    const [file, ...args] = wheelCommand(builder, source, out)
    await runCommand(file, args, { cwd: source, env, signal: limit.signal })
    const wheel = (await readdir(out)).find((each) => each.endsWith('.whl'))
    const { texts } = await readFromZip(path.join(out, wheel ?? ''), metadataPath)
    const { version } = parseMetadata([...texts.values()][0] ?? '')
    if (parsePythonVersion(version) !== undefined) return version
    return refuse(`the build says "${version}", which is no version`, 'Look at its settings.')
  } catch (error) {
    if (!isError(error, 'HDL_COMMAND_FAILED')) throw limit.error(error)
    const last = error.details.said.trimEnd().split('\n').at(-1) ?? ''
    return refuse(
      `${error.details.command.split(' ')[0]} failed: ${last}`,
      'Build it by hand first.',
    )
  } finally {
    await rm(temporary, { recursive: true, force: true })
  }
}
