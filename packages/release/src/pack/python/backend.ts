/** Building through the project's own backend, in a copy of its folder: the tree stays untouched. */
import { cp, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { HeddleError } from '@heddle/core'
import { type Kernel, type Patience, runCommand } from '@heddle/core/lowlevel'
import { pythonVersion } from '../../manifest/requirement.ts'
import { entryDate } from '../archive-entry.ts'
import type { ArchiveSource, WrittenArchive } from '../archive-job.ts'
import { writeArchive } from '../write-archive.ts'
import { metadataPath } from './metadata.ts'
import type { PythonSource } from './own-builder.ts'
import { sourceFiles } from './source-files.ts'

export type PythonBuilder = 'uv' | 'build'

type Command = [file: string, ...args: string[]]

const commands: Readonly<
  Record<PythonBuilder, (source: string, out: string, isolated: boolean) => Command>
> = {
  uv: (source, out, isolated) => [
    'uv',
    'build',
    // Sources of a workspace have no meaning in a copy, and are not part of the release.
    '--no-sources',
    ...(isolated ? [] : ['--no-build-isolation']),
    '--sdist',
    '--wheel',
    '-o',
    out,
    source,
  ],
  build: (source, out, isolated) => [
    'python3',
    '-m',
    'build',
    ...(isolated ? [] : ['--no-isolation']),
    '--sdist',
    '--wheel',
    '-o',
    out,
    source,
  ],
}

const probes: Readonly<Record<PythonBuilder, Command>> = {
  uv: ['uv', '--version'],
  build: ['python3', '-m', 'build', '--version'],
}

/** Builds a wheel alone, from where the source is. */
export function wheelCommand(builder: PythonBuilder, source: string, out: string): Command {
  const [file, ...args] = commands[builder](source, out, true)
  return [file, ...args.filter((each) => each !== '--sdist')]
}

type Env = Readonly<Record<string, string | undefined>>

/** Undefined when none of them is installed. */
export async function findBuilder(
  env: Env,
  patience: Patience,
): Promise<PythonBuilder | undefined> {
  for (const builder of ['uv', 'build'] as const) {
    const [file, ...args] = probes[builder]
    try {
      await runCommand(file, args, { env, signal: patience.bounded })
      return builder
    } catch {
      patience.check()
    }
  }
  return undefined
}

/** So that backends give equal bytes for equal files, and versions from git where there is no git. */
function buildEnv(env: Env, version: string): Env {
  return {
    ...env,
    SOURCE_DATE_EPOCH: String(entryDate.getTime() / 1000),
    PYTHONHASHSEED: '0',
    SETUPTOOLS_SCM_PRETEND_VERSION: version,
    PDM_BUILD_SCM_VERSION: version,
    UV_DYNAMIC_VERSIONING_BYPASS: version,
  }
}

export interface BackendOptions {
  readonly folder: string
  readonly version: string
  readonly env: Env
  readonly isolated: boolean
}

/**
 * @throws `HDL_COMMAND_FAILED` with the end of the backend's output; `HDL_PACK_FAILED` when it made
 * no wheel or no sdist.
 */
export async function* buildByBackend(
  builder: PythonBuilder,
  source: PythonSource,
  options: BackendOptions,
  patience: Patience,
  kernel: Kernel,
): AsyncGenerator<WrittenArchive> {
  const copy = await mkdtemp(path.join(os.tmpdir(), 'heddle-pack-'))
  try {
    const tree = path.join(copy, 'source')
    const out = path.join(copy, 'dist')
    await mkdir(out)
    for (const file of await sourceFiles(source.folder, patience.bounded)) {
      patience.check()
      await cp(path.join(source.folder, file), path.join(tree, file))
    }
    await writeFile(path.join(tree, 'pyproject.toml'), source.text)
    const [file, ...args] = commands[builder](tree, out, options.isolated)
    const env = buildEnv(options.env, pythonVersion(options.version))
    await runCommand(file, args, { cwd: tree, env, signal: patience.bounded, kernel })
    const names = (await readdir(out)).filter((name) => /\.whl$|\.tar\.gz$/.test(name)).sort()
    for (const kind of ['.whl', '.tar.gz']) {
      if (names.some((name) => name.endsWith(kind))) continue
      const problem = `${file} made no ${kind} (found: ${names.join(', ') || 'nothing'})`
      throw new HeddleError('HDL_PACK_FAILED', { package: source.name, problem })
    }
    for (const name of names) {
      const made: ArchiveSource = { kind: 'copy', from: path.join(out, name) }
      const copied = path.join(options.folder, name)
      yield await writeArchive(
        { file: copied, source: made, readBack: metadataPath },
        patience.bounded,
      )
    }
  } finally {
    await rm(copy, { recursive: true, force: true })
  }
}
