/**
 * Files of a repository at a commit, for cases that are named by commits.
 *
 * `HEDDLE_EVAL_REPOSITORIES` names a folder with git directories called `owner+name` (or `owner+name/repo`);
 * cases of other repositories are left out. Without it they are fetched from GitHub, one commit deep. What is taken out is kept in the
 * temporary folder, never in this repository: it is other people's code.
 */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { cacheFolder } from './fetch.ts'

const run = promisify(execFile)
const roomy = { maxBuffer: 1 << 28 }
/** Code and what says how it is read. A snapshot may lack its largest files, which are others. */
const isWanted = /(?:\.(?:[cm]?[jt]s|[jt]sx)|(?:^|\/)(?:package|tsconfig[\w.-]*)\.json)$/

/** The git directory in the folder of repositories; undefined when it has none. */
function givenFolder(repo: string): string | undefined {
  const { HEDDLE_EVAL_REPOSITORIES: given } = process.env
  if (given === undefined) return undefined
  const name = repo.replace('/', '+')
  return [path.join(given, name, 'repo'), path.join(given, name)].find((one) => existsSync(one))
}

/** Whether its cases can be asked about: a folder of repositories that is named has all that are wanted. */
export function isAtHand(repo: string): boolean {
  return process.env['HEDDLE_EVAL_REPOSITORIES'] === undefined || givenFolder(repo) !== undefined
}

/** The git directory that has the commit. */
async function gitFolder(repo: string, commit: string): Promise<string> {
  const given = givenFolder(repo)
  if (given !== undefined) return given
  const name = repo.replace('/', '+')
  const own = path.join(cacheFolder, 'git', name)
  if (!existsSync(own)) {
    await mkdir(own, { recursive: true })
    await run('git', ['init', '--bare', '--quiet', own])
  }
  const has = await run('git', ['-C', own, 'cat-file', '-e', commit]).then(
    () => true,
    () => false,
  )
  if (!has)
    await run('git', ['-C', own, 'fetch', '--depth=1', `https://github.com/${repo}`, commit], roomy)
  return own
}

export async function git(repo: string, commit: string, ...args: string[]): Promise<string> {
  const folder = await gitFolder(repo, commit)
  const { stdout } = await run('git', ['-C', folder, ...args], roomy)
  return stdout
}

/** The nearest folder above a file that has a `package.json`; empty for the root. */
export async function packageFolderOf(repo: string, commit: string, file: string): Promise<string> {
  for (let folder = path.posix.dirname(file); folder !== '.'; folder = path.posix.dirname(folder)) {
    const listed = await git(
      repo,
      commit,
      'ls-tree',
      '--name-only',
      commit,
      `${folder}/package.json`,
    )
    if (listed.trim() !== '') return folder
  }
  return ''
}

/** A folder with what `folder` of the repository has at the commit. */
export async function fetchCommit(repo: string, commit: string, folder: string): Promise<string> {
  const name = `${repo}@${commit.slice(0, 12)}${folder === '' ? '' : `#${folder}`}`
  const target = path.join(cacheFolder, 'commits', name.replaceAll('/', '+'))
  if (existsSync(target)) return target
  await mkdir(path.dirname(target), { recursive: true })
  const work = await mkdtemp(path.join(cacheFolder, 'commits', '.fetch-'))
  try {
    const source = await gitFolder(repo, commit)
    const archive = path.join(work, 'archive.tar')
    const inside = folder === '' ? '.' : folder
    const listed = await run(
      'git',
      ['-C', source, 'ls-tree', '-r', '--name-only', commit, inside],
      roomy,
    )
    const files = listed.stdout.split('\n').filter((file) => isWanted.test(file))
    await run('git', ['-C', source, 'archive', '-o', archive, commit, '--', ...files], roomy)
    const unpacked = path.join(work, 'unpacked')
    await mkdir(unpacked)
    await run('tar', ['xf', archive, '-C', unpacked])
    await rename(path.join(unpacked, folder), target).catch((error: unknown) => {
      if (!existsSync(target)) throw error
    })
  } finally {
    await rm(work, { recursive: true, force: true })
  }
  return target
}
