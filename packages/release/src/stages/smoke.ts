import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { HeddleError } from '@heddle/core'
import { runCommand } from '@heddle/core/lowlevel'
import type { PackedPackage } from '../model.ts'

/** Milliseconds: a registry that does not answer must not hold up the release. */
const deadline = 300_000

/**
 * Installs the version into an empty project outside of the workspace, as a user would, and looks
 * whether that is what arrived. npm compares the hashes of what it downloads with the registry's.
 *
 * The settings of the workspace at `root` count, for the tokens that private registries need.
 *
 * Scripts are not run: what the package does when it is installed is its own affair.
 *
 * *Cancellation*: ends npm and removes the project.
 * *Fairness*: does not apply; every call has its own project.
 * @throws `HDL_COMMAND_FAILED` with the end of what npm said; `HDL_NOT_INSTALLABLE`.
 */
export async function smokeInstall(
  { name, version }: Pick<PackedPackage, 'name' | 'version'>,
  { registry, root }: { readonly registry: string; readonly root: string },
  signal: AbortSignal,
): Promise<void> {
  const project = await mkdtemp(path.join(os.tmpdir(), 'heddle-smoke-'))
  try {
    await writeFile(path.join(project, 'package.json'), '{ "private": true }\n')
    const args = ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--no-package-lock']
    // A cache of its own: what an earlier release left there must not hide that something is missing.
    const cache = path.join(project, '.cache')
    await copyFile(path.join(root, '.npmrc'), path.join(project, '.npmrc')).catch(unlessMissing)
    // Of a scope the settings may say another registry than the one that was published to.
    const scope = /^(@[^/]+)\//.exec(name)?.[1]
    const ofScope = scope === undefined ? [] : [`--${scope}:registry=${registry}`]
    const from = ['--registry', registry, ...ofScope, '--cache', cache]
    await runCommand(npm, [...args, ...from, `${name}@${version}`], {
      cwd: project,
      signal,
      deadline,
    })
    const file = path.join(project, 'node_modules', name, 'package.json')
    const installed = (JSON.parse(await readFile(file, 'utf8')) as { version?: unknown }).version
    if (installed !== version) {
      const problem = `version ${String(installed)} was installed`
      throw new HeddleError('HDL_NOT_INSTALLABLE', { package: name, version, registry, problem })
    }
  } finally {
    await rm(project, { recursive: true, force: true })
  }
}

function unlessMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error
}

const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm'
