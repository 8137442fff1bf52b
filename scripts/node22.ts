/**
 * Runs core's tests on the oldest Node that the published packages support: `npm test -- --node22`.
 *
 * Sources and tests are compiled together, so that `using` is lowered as in the published build. The
 * result lies in `.node22` under the names that the files have in `packages/core`: a test that starts a
 * fixture by its name finds it. That Node has a package folder of its own, `scripts/node22`, because npm
 * would link its program over the Node that this repository pins.
 *
 * test/house is left out: it reads the text of the repository, which is the same on every Node.
 */
import { spawn } from 'node:child_process'
import {
  copyFileSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { groupsOf, writeGroups } from './test-plan.ts'
import { root, runNpm, runTool } from './tool.ts'

const home = path.join(root, 'scripts/node22')
const output = path.join(root, '.node22')

export interface Node22Options {
  /** Files that have a process of their own, from the root. */
  readonly alone: readonly string[]
  /** Files that share one with others of their package. */
  readonly shared: readonly string[]
  readonly concurrency: number
  /** Milliseconds for a file. */
  readonly timeout: number
  readonly namePatterns: readonly string[]
}

export interface Node22Result {
  readonly ok: boolean
  /** Why nothing ran. */
  readonly skipped?: string
  /** What the runner counted: tests, pass, fail, skipped and others. */
  readonly counts: ReadonlyMap<string, number>
}

/** Runs those of the files that are tests of core. */
export async function testOnNode22(options: Node22Options): Promise<Node22Result> {
  const alone = options.alone.filter(isCoreTest)
  const shared = options.shared.filter(isCoreTest)
  const nothing = { ok: true, counts: new Map<string, number>() }
  if (alone.length + shared.length === 0)
    return { ...nothing, skipped: 'none of the files is a test of core' }
  const found = await installNode22()
  if ('missing' in found) return { ...nothing, skipped: found.missing }
  await compile()
  // Not below node_modules, where `node --test` looks for no tests.
  const groups = writeGroups(groupsOf(shared), path.join(output, 'groups'))
  const programs = groups.map((program) => path.relative(output, program))
  const result = await runTests(found.node, [...alone, ...programs], options)
  // Each of these files is a suite.
  const suites = result.counts.get('suites') ?? 0
  if (suites >= shared.length || options.namePatterns.length > 0) return result
  throw new Error(`${shared.length - suites} of ${shared.length} files were not run on Node 22`)
}

function isCoreTest(file: string): boolean {
  return file.startsWith('packages/core/test/') && !file.startsWith('packages/core/test/house/')
}

/** The program, or in words why this machine cannot have it. */
export async function installNode22(): Promise<{ node: string } | { missing: string }> {
  const { optionalDependencies } = JSON.parse(
    readFileSync(path.join(home, 'package.json'), 'utf8'),
  ) as { optionalDependencies: Record<string, string> }
  const name = `node-${process.platform}-${process.arch}`
  const version = optionalDependencies[name]
  if (version === undefined) return { missing: `npm has no Node 22.18 for this system (${name})` }
  const folder = path.join(home, 'node_modules', name)
  const node = path.join(folder, 'bin/node')
  if (installedVersion(folder) === version) return { node }
  console.error(`heddle: fetching Node ${version}, the oldest that is supported`)
  const { ok, output: printed } = await runNpm(['ci', '--no-audit', '--no-fund'], { cwd: home })
  if (!ok || !existsSync(node)) throw new Error(`npm could not install ${name}:\n${printed}`)
  return { node }
}

function installedVersion(folder: string): string | undefined {
  const manifest = path.join(folder, 'package.json')
  if (!existsSync(manifest)) return undefined
  // These packages write `v22.18.0`.
  return (JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }).version.replace(
    /^v/,
    '',
  )
}

/** Compiles packages/core with its tests; throws the compiler's output. */
async function compile(): Promise<void> {
  rmSync(output, { recursive: true, force: true })
  mkdirSync(output)
  const settings = path.join(output, 'tsconfig.json')
  const compilerOptions = {
    composite: false,
    declarationMap: false,
    sourceMap: false,
    // `npm run check` checks the types.
    noCheck: true,
    rootDir: '..',
    outDir: '.',
  }
  const include = ['../packages/core/src', '../packages/core/test']
  writeFileSync(
    settings,
    JSON.stringify({ extends: '../tsconfig.base.json', compilerOptions, include }),
  )
  const { ok, output: printed } = await runTool('tsc', ['-p', settings])
  if (!ok) throw new Error(printed)
  for (const file of globSync('packages/core/**/*.js', { cwd: output })) restoreName(file)
  const others = ['packages/core/package.json', 'packages/core/test/**/*.*']
  for (const file of globSync(others, { cwd: root })) {
    if (file.endsWith('.ts')) continue
    mkdirSync(path.dirname(path.join(output, file)), { recursive: true })
    copyFileSync(path.join(root, file), path.join(output, file))
  }
}

/**
 * `x.js` becomes `x.ts` again, and so do its imports. A file without `using` is taken as it is, so that
 * its lines stay where tests expect them.
 */
function restoreName(file: string): void {
  const compiled = path.join(output, file)
  const name = file.replace(/\.js$/, '.ts')
  const source = readFileSync(path.join(root, name), 'utf8')
  const text = /^\s*(?:await )?using \w+ =|\((?:await )?using /m.test(source)
    ? readFileSync(compiled, 'utf8').replace(
        /(\b(?:from|import\()\s*["']\.{1,2}\/[^"']*)\.js(["'])/g,
        '$1.ts$2',
      )
    : source
  writeFileSync(path.join(output, name), text)
  rmSync(compiled)
}

/** Seeds of simulations that the first run does not play: the same ones again would find nothing new. */
const otherSeeds = {
  HEDDLE_SEED: process.env['HEDDLE_SEED'] ?? '20001',
  HEDDLE_SEEDS: process.env['HEDDLE_SEEDS'] ?? '500',
}

function runTests(
  node: string,
  files: readonly string[],
  { concurrency, timeout, namePatterns }: Node22Options,
): Promise<Node22Result> {
  const args = [
    '--import',
    new URL('test-watch.mjs', import.meta.url).href,
    '--test',
    `--test-concurrency=${concurrency}`,
    `--test-timeout=${timeout}`,
    '--test-reporter=spec',
    ...namePatterns.map((pattern) => `--test-name-pattern=${pattern}`),
    ...files,
  ]
  const child = spawn(node, args, {
    cwd: output,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      ...process.env,
      // Node 22 calls SQLite and stripping of types experimental, on stderr, in every process.
      NODE_OPTIONS: '--conditions=heddle-source --disable-warning=ExperimentalWarning',
      ...otherSeeds,
      PATH: [path.dirname(node), process.env['PATH']].join(path.delimiter),
    },
  })
  const counts = new Map<string, number>()
  createInterface({ input: child.stdout }).on('line', (line) => {
    const [, name, value] = /^ℹ (\w+) ([\d.]+)$/.exec(line) ?? []
    if (name === undefined) console.log(line)
    else counts.set(name, Number(value))
  })
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => resolve({ ok: code === 0, counts }))
  })
}
