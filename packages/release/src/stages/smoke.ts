import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { HeddleError } from '@heddle/core'
import { runCommand } from '@heddle/core/lowlevel'
import type { Fields } from '../manifest/local-range.ts'
import type { PackedPackage } from '../model.ts'
import { entryPointsOf, importProblem } from './entry-points.ts'

/** Milliseconds: a registry that does not answer must not hold up the release. */
const deadline = 300_000

export interface SmokeOptions {
  readonly registry: string
  /** Where packages without a scope come from, for a package that has one. The same when absent. */
  readonly unscoped?: string
  /** The workspace, whose settings count. */
  readonly root: string
  /** Whether its entry points are imported, too. */
  readonly imports?: boolean
}

/**
 * Installs the version into an empty project outside of the workspace, as a user would, and looks
 * whether that is what arrived; then imports each of its entry points. npm compares the hashes of its downloads with
 * the registry's.
 *
 * The settings of the workspace at `root` count, for the tokens that private registries need.
 *
 * Scripts are not run: install scripts of the package are not tested.
 *
 * *Cancellation*: ends npm and removes the project.
 * @throws `HDL_COMMAND_FAILED` with the end of what npm said; `HDL_NOT_INSTALLABLE`.
 */
export async function smokeInstall(
  { name, version }: Pick<PackedPackage, 'name' | 'version'>,
  { registry, unscoped = registry, root, imports = true }: SmokeOptions,
  signal: AbortSignal,
): Promise<{ readonly imported: number }> {
  const project = await mkdtemp(path.join(os.tmpdir(), 'heddle-smoke-'))
  try {
    await writeFile(path.join(project, 'package.json'), '{ "private": true }\n')
    const args = ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--no-package-lock']
    // A cache of its own: files of an earlier release must not hide that something is missing.
    const cache = path.join(project, '.cache')
    await copyFile(path.join(root, '.npmrc'), path.join(project, '.npmrc')).catch(unlessMissing)
    // The settings may name another registry for a scope than the one that was published to.
    const scope = /^(@[^/]+)\//.exec(name)?.[1]
    const places =
      scope === undefined
        ? ['--registry', registry]
        : ['--registry', unscoped, `--${scope}:registry=${registry}`]
    const from = [...places, '--cache', cache]
    await runCommand(npm, [...args, ...from, `${name}@${version}`], {
      cwd: project,
      signal,
      deadline,
    })
    const folder = path.join(project, 'node_modules', name)
    const manifest = JSON.parse(await readFile(path.join(folder, 'package.json'), 'utf8')) as Fields
    const refuse = (problem: string): never => {
      throw new HeddleError('HDL_NOT_INSTALLABLE', { package: name, version, registry, problem })
    }
    if (manifest['version'] !== version) {
      refuse(`version ${String(manifest['version'])} was installed`)
    }
    const entries = imports ? await entryPointsOf(folder, manifest) : []
    if (entries.length === 0) return { imported: 0 }
    const problem = await importProblem(project, entries, manifest, signal)
    if (problem !== undefined) refuse(problem)
    return { imported: entries.length }
  } finally {
    await rm(project, { recursive: true, force: true })
  }
}

function unlessMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error
}

const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm'
