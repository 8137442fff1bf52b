/**
 * Which test files share a process, and in which order they run.
 *
 * Most of a short file's time is the start of its process and the loading of modules. Files of pure tests share a
 * process, one file after the other (test-shared.mjs); after each of them it is checked that nothing is left. A file
 * that starts threads, processes or servers, or that inspects its own process, keeps a process of its own
 * (docs/decisions/0595).
 */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { root } from './tool.ts'

/** A file that has one of these, or imports a support file that has, runs in a process of its own. */
const marks: readonly (readonly [mark: RegExp, reason: string])[] = [
  [/worker_threads|new Worker\(|ThreadPool|place: 'thread'/, 'threads'],
  [
    /child_process|\bspawn\w*\(|\bfork\(|playwright|[vV]erdaccio|runCli\(|findCompilers/,
    'processes',
  ],
  [/createServer|startServer|\.listen\(|\bfetch\(|test-servers|openDatabase/, 'servers'],
  [/sqlite/i, 'files that a thread writes'],
  [
    /\bprocess\.(?:on|once|kill|chdir|exit\w*|env|argv|std\w+|execPath|memoryUsage)\b/,
    'its own process',
  ],
  [/globalThis|\bmock\.|registerHooks|syncBuiltin|setFlagsFromString|\bgc\(/, 'globals'],
  [/performance\.|LoopWatch|loop-watch|expectLoopFree|hrtime/, 'real time'],
  // A promise of `test()` resolves only in a file of its own.
  [/^\s*await (?:test|describe|suite)\(/m, 'the order of its own tests'],
]

/** Hooks of a support file would be those of the first file that imports it. */
const hooks = /^(?:after|before|afterEach|beforeEach)\(/m

/** Why this file does not share a process, in a word or two; undefined when it does. */
export function ownProcessReason(file: string): string | undefined {
  const support = supportOf(file)
  for (const [mark, reason] of marks) {
    if ([file, ...support].some((each) => mark.test(read(each)))) return reason
  }
  if (support.some((each) => hooks.test(read(each)))) return 'hooks of a support file'
  return undefined
}

const texts = new Map<string, string>()
function read(file: string): string {
  let text = texts.get(file)
  if (text === undefined) {
    text = readFileSync(path.join(root, file), 'utf8')
    texts.set(file, text)
  }
  return text
}

/** What a test file imports of the folders of tests, directly and through others. */
function supportOf(file: string): string[] {
  const found = new Set<string>()
  const follow = (from: string): void => {
    for (const [, link] of read(from).matchAll(/(?:from|import\(?)\s*'(\.[^']+)'/g)) {
      const target = path.posix.join(path.posix.dirname(from), link!)
      if (/(^|\/)src\//.test(target) || found.has(target)) continue
      if (!existsSync(path.join(root, target))) continue
      found.add(target)
      follow(target)
    }
  }
  follow(file)
  found.delete(file)
  return [...found]
}

/**
 * Milliseconds of the slowest files, on two quiet cores (2026-11-18). A fresh clone has measured nothing yet, and a file of minutes that starts last
 * leaves the other cores idle.
 */
export const longFiles: Readonly<Record<string, number>> = {
  'packages/ui/test/browser/pages.test.ts': 171_000,
  'packages/core/test/store/ownership.simulation.test.ts': 78_000,
  'packages/server/test/fleet/fleet.stores.test.ts': 57_000,
  'packages/worker/test/worker.accidents.test.ts': 41_000,
  'packages/release/test/stages/release.own-workspace.test.ts': 39_000,
  'site/test/site.test.ts': 37_000,
  'bench/test/fleet.test.ts': 34_000,
  'packages/cli/test/serve/execute-serve.kill.test.ts': 33_000,
  'chaos/test/scenarios.test.ts': 33_000,
  'packages/ui/test/browser/run.test.ts': 30_000,
  'packages/cli/test/release/publish.test.ts': 28_000,
}

/** How many files share a process at most: their imports stay in memory, and a crash ends all of them. */
const mostInGroup = 24

/** `packages/core` of a file in it. */
export function packageOf(file: string): string {
  return file.split('/').slice(0, 2).join('/')
}

/** Files of one package, which import the same modules, that share a process. */
export function groupsOf(files: readonly string[]): string[][] {
  const packages = Map.groupBy(files, packageOf)
  return [...packages.values()].flatMap((own) => {
    const count = Math.ceil(own.length / mostInGroup)
    return Array.from({ length: count }, (_, n) => own.filter((_file, at) => at % count === n))
  })
}

/** One for each run: another run in the same checkout must not remove the programs of this one. */
const ownFolder = path.join(root, 'node_modules/.cache/test-groups', String(process.pid))

/** Writes a program for each group and returns their paths, in the same order. They are removed when this process ends. */
export function writeGroups(groups: readonly (readonly string[])[], folder = ownFolder): string[] {
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  const shared = pathToFileURL(path.join(root, 'scripts/test-shared.mjs')).href
  return groups.map((files, n) => {
    const program = path.join(folder, packageOf(files[0]!), `${n + 1}.test.mjs`)
    mkdirSync(path.dirname(program), { recursive: true })
    const list = JSON.stringify(files, null, 2)
    writeFileSync(
      program,
      `import { runShared } from ${JSON.stringify(shared)}\nrunShared(${list})\n`,
    )
    return program
  })
}
