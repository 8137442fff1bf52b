/** Version and requirements of a Python package whose build computes them (hatch-vcs, setuptools-scm), from the built metadata. */
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { isError } from '@heddle/core'
import { Patience, runCommand, systemKernel } from '@heddle/core/lowlevel'
import { runGit } from '../git/run-git.ts'
import type { WorkspacePackage } from '../model.ts'
import { findBuilder, wheelCommand, type PythonBuilder } from '../pack/python/backend.ts'
import { metadataPath, parseMetadata } from '../pack/python/metadata.ts'
import { readFromZip } from '../pack/python/read-zip.ts'
import type { Problems } from './workspace-problems.ts'
import { parsePythonVersion } from './python-version.ts'

export interface BuiltMetadataOptions {
  readonly signal?: AbortSignal | undefined
  readonly env?: Readonly<Record<string, string | undefined>> | undefined
}

/** Fields of a manifest that a build computes. */
export interface BuiltMetadata {
  readonly version: string
  /** The lines of `Requires-Dist`, with a marker for those of extras. */
  readonly requirements: readonly string[]
}

/**
 * The program that builds these packages. One problem names all of them where there is none.
 *
 * *Cancellation*: ends the question; nothing is left behind.
 */
export async function requireBuilder(
  packages: readonly WorkspacePackage[],
  problems: Problems,
  { signal, env = process.env }: BuiltMetadataOptions,
): Promise<PythonBuilder | undefined> {
  const wait = signal === undefined ? {} : { signal }
  using patience = new Patience(
    'Looking for a builder of Python packages',
    systemKernel.clock,
    wait,
  )
  const builder = await findBuilder(env, patience)
  if (builder !== undefined) return builder
  const names = packages.slice(0, mostNames).map(({ name }) => name)
  const more = packages.length > mostNames ? ` and ${packages.length - mostNames} more` : ''
  const computed = `only a build knows version or dependencies of ${names.join(', ')}${more}`
  problems.add({
    file: packages[0]!.manifestFile,
    problem: `neither \`uv\` nor \`python3 -m build\` is installed here, and ${computed}`,
    todo: 'Install uv (https://docs.astral.sh/uv/) or `pip install build`, or write version and dependencies into [project].',
  })
  return undefined
}

/** Names in one message. */
const mostNames = 10

/**
 * Builds a wheel in a clone of the repository, because such versions come from tags and commits, and reads
 * its metadata. Undefined when that cannot be done; `problems` says why.
 *
 * *Cancellation*: ends the build; nothing is left behind.
 */
export async function builtMetadata(
  { folder, manifestFile, name }: WorkspacePackage,
  builder: PythonBuilder,
  problems: Problems,
  { signal, env = process.env }: BuiltMetadataOptions,
): Promise<BuiltMetadata | undefined> {
  const wait = signal === undefined ? {} : { signal }
  using patience = new Patience(`Building ${name} to read its metadata`, systemKernel.clock, wait)
  patience.check()
  const refuse = (problem: string, todo: string): undefined => {
    const before = 'its build computes its version or its dependencies'
    problems.add({ file: manifestFile, problem: `${before}: ${problem}`, todo })
    return undefined
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
    await runCommand(file, args, { cwd: source, env, signal: patience.bounded })
    const wheel = (await readdir(out)).find((each) => each.endsWith('.whl'))
    const { texts } = await readFromZip(path.join(out, wheel ?? ''), metadataPath)
    const { version, requires } = parseMetadata([...texts.values()][0] ?? '')
    if (parsePythonVersion(version) !== undefined) return { version, requirements: requires }
    const said = `the build gives it the version "${version}", which is not one of PEP 440`
    return refuse(said, 'Correct the settings of its build backend.')
  } catch (error) {
    if (!isError(error, 'HDL_COMMAND_FAILED')) throw patience.errorOf(error)
    const last = error.details.said.trimEnd().split('\n').at(-1) ?? ''
    return refuse(
      `${error.details.command.split(' ')[0]} failed: ${last}`,
      'Run `uv build` or `python3 -m build` in its folder to see the whole output.',
    )
  } finally {
    await rm(temporary, { recursive: true, force: true })
  }
}
