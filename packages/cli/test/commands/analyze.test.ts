import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test, type TestContext } from 'node:test'
import { Program, cleanEnv, launcher, runProgram } from '../support/program.ts'
import { Pty, whyNoTerminal } from '../support/pty.ts'

const race = `import { open, type Session } from './session.ts'

export class Client {
  #session: Session | undefined

  async connect(): Promise<Session> {
    if (this.#session === undefined) {
      this.#session = await open()
    }
    return this.#session
  }

  async close(): Promise<void> {
    const session = this.#session
    this.#session = undefined
    await session?.close()
  }
}
`

const clean = `export async function twice(work: () => Promise<void>): Promise<void> {
  await work()
  await work()
}
`

async function project(t: TestContext, files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'heddle-analyze-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  for (const [file, text] of Object.entries(files)) {
    await mkdir(path.dirname(path.join(folder, file)), { recursive: true })
    await writeFile(path.join(folder, file), text)
  }
  return folder
}

type Ended = Awaited<ReturnType<typeof runProgram>>

function analyze(folder: string, ...args: string[]): Promise<Ended> {
  return runProgram(['analyze', ...args], { cwd: folder })
}

interface Document {
  readonly version: number
  readonly findings: readonly {
    readonly rule: string
    readonly class: string
    readonly file: string
    readonly function: string
    readonly check: number
    readonly act: number
    readonly state: string
  }[]
  readonly suppressed: readonly { readonly reason: string }[]
  readonly fixed: readonly unknown[]
  readonly error?: { readonly code: string; readonly help: string }
}

function documentOf({ lines }: Ended): Document {
  return JSON.parse(lines.at(-1)!) as Document
}

test('exit codes: 0 clean, 1 found, 2 not understood, 3 incomplete; the rest is analysed all the same', async (t) => {
  const folder = await project(t, {
    'clean/a.ts': clean,
    'race/a.ts': race,
    'broken/a.ts': race,
    'broken/b.ts': 'export const x = {',
  })
  const [none, found, never, wrong, incomplete] = await Promise.all([
    analyze(folder, 'clean'),
    analyze(folder, 'race'),
    analyze(folder, 'race', '--fail-on', 'never'),
    analyze(folder, 'nowhere', '--json'),
    analyze(folder, 'broken', '--json'),
  ])
  assert.deepEqual(
    [none.code, found.code, never.code, wrong.code, incomplete.code],
    [0, 1, 0, 2, 3],
  )
  assert.match(none.stdout, /^no findings in 1 file, 5 lines, /)
  assert.match(
    found.stdout,
    /^\w+\[H101\]: [^]* {2}--> race\/a\.ts:7:9 \(task A, in Client\.connect\)/,
  )
  assert.match(found.stdout, /= window: steps \d–\d\n/)
  // oxlint-disable-next-line no-control-regex -- no colours without a terminal
  assert.doesNotMatch(found.stdout + found.stderr, /\u001b/)
  assert.deepEqual(documentOf(wrong).findings, [])
  assert.equal(documentOf(wrong).error!.code, 'HDL_NO_SUCH_SOURCE')
  assert.match(wrong.stderr, /There is nothing to analyse at "nowhere"/)
  assert.deepEqual(
    documentOf(incomplete).findings.map(({ rule, file }) => [rule, file]),
    [['H101', 'broken/a.ts']],
  )
})

test('a folder without code is a mistake, not a clean answer', async (t) => {
  const folder = await project(t, { 'docs/readme.md': '# No code' })
  const [empty, named] = await Promise.all([analyze(folder), analyze(folder, 'docs')])
  assert.deepEqual([empty.code, named.code], [2, 2])
  assert.match(named.stderr, /There is nothing to analyse at "docs"\./)
})

test('--json is one document on the last line, with the fields of the reference', async (t) => {
  const folder = await project(t, { 'src/a.ts': race })
  const [json, format] = await Promise.all([
    analyze(folder, '--json'),
    analyze(folder, '--format', 'json', 'src/a.ts'),
  ])
  const { version, findings } = documentOf(json)
  assert.equal(version, 1)
  const [finding] = findings
  const { rule, class: kind, file, function: name, check, act, state } = finding!
  assert.deepEqual(
    { rule, kind, file, name, check, act, state },
    {
      rule: 'H101',
      kind: 'toctou',
      file: 'src/a.ts',
      name: 'Client.connect',
      check: 7,
      act: 8,
      state: 'new',
    },
  )
  assert.deepEqual(documentOf(format).findings, findings)
  assert.equal(json.stderr, '')
})

test('targets may be lines, a function, standard input or a file elsewhere', async (t) => {
  const folder = await project(t, { 'src/a.ts': race, 'package.json': '{}' })
  const [inside, outside, named, elsewhere] = await Promise.all([
    analyze(folder, 'src/a.ts:7-9', '--json'),
    analyze(folder, 'src/a.ts:1-3', '--json'),
    analyze(folder, 'src/a.ts#connect', '--json'),
    analyze(tmpdir(), path.join(folder, 'src/a.ts'), '--json'),
  ])
  assert.deepEqual(
    [inside, outside, named, elsewhere].map((each) => documentOf(each).findings.length),
    [1, 0, 1, 1],
  )
  const misspelt = await analyze(folder, 'src/a.ts#conect')
  assert.equal(misspelt.code, 2)
  assert.match(misspelt.stderr, /did you mean connect\?/)

  using program = new Program(['analyze', '-', '--json'], { cwd: folder, stdin: race })
  assert.equal(await program.ended(), 1)
  const { findings } = JSON.parse(program.lines.at(-1)!) as Document
  assert.deepEqual([findings.length, findings[0]!.file], [1, 'snippet.ts'])
})

test('--changed-since: only changed code, and a missing revision is reported', async (t) => {
  const folder = await project(t, { 'a.ts': race, 'b.ts': race.replace('connect', 'reconnect') })
  const git = (...args: string[]): void => {
    const who = ['-c', 'user.name=test', '-c', 'user.email=test@example.com']
    execFileSync('git', [...who, ...args], { cwd: folder, stdio: 'ignore' })
  }
  git('init')
  git('add', '.')
  git('commit', '-m', 'before', '--no-gpg-sign')
  const nothing = await analyze(folder, '--changed-since', 'HEAD')
  assert.equal(nothing.code, 0)
  const edited = race.replace('    return this.#session', '    log()\n    return this.#session')
  await writeFile(path.join(folder, 'a.ts'), edited)
  const [changed, wrong] = await Promise.all([
    analyze(folder, '--changed-since', 'HEAD', '--json'),
    analyze(folder, '--changed-since', 'nowhere'),
  ])
  assert.deepEqual(
    documentOf(changed).findings.map(({ file }) => file),
    ['a.ts'],
  )
  assert.equal(wrong.code, 2)
  assert.match(wrong.stderr, /"nowhere" is not a revision/)
})

test('--changed-since with a baseline: equal findings of other packages keep their numbers', async (t) => {
  const names = ['a', 'b', 'c']
  const files = names.flatMap((name) => [
    [`${name}/package.json`, JSON.stringify({ name })],
    [`${name}/index.ts`, race],
  ])
  const folder = await project(t, Object.fromEntries(files) as Record<string, string>)
  const git = (...args: string[]): void => {
    const who = ['-c', 'user.name=test', '-c', 'user.email=test@example.com']
    execFileSync('git', [...who, ...args], { cwd: folder, stdio: 'ignore' })
  }
  git('init')
  git('add', '.')
  git('commit', '-m', 'before', '--no-gpg-sign')
  const edited = race.replace('    return this.#session', '    log()\n    return this.#session')
  await writeFile(path.join(folder, 'c/index.ts'), edited)
  await analyze(folder, '--changed-since', 'HEAD', '--write-baseline')
  const states = documentOf(await analyze(folder, '--json')).findings.map((one) => [
    one.file,
    one.state,
  ])
  assert.deepEqual(states, [
    ['a/index.ts', 'new'],
    ['b/index.ts', 'new'],
    ['c/index.ts', 'known'],
  ])
})

test('the other formats: Markdown in the structure of seed 003, SARIF, annotations; --output', async (t) => {
  const folder = await project(t, { 'a.ts': race })
  const [markdown, sarif, github, file] = await Promise.all([
    analyze(folder, '--format', 'markdown'),
    analyze(folder, '--format', 'sarif'),
    analyze(folder, '--format', 'github'),
    analyze(folder, '--format', 'sarif', '--output', 'out.sarif'),
  ])
  const titles = markdown.lines.filter((line) => /^##+ /.test(line)).slice(0, 6)
  assert.deepEqual(titles, [
    '## Concurrency analysis: `a.ts#Client.connect`',
    '### Shared state',
    '### Checkpoints',
    '### Race trace',
    '### Classification',
    '### Fixes',
  ])
  const log = JSON.parse(sarif.stdout) as { version: string; runs: { results: unknown[] }[] }
  assert.deepEqual([log.version, log.runs[0]!.results.length], ['2.1.0', 1])
  assert.match(github.stdout, /^::(warning|error) file=a\.ts,line=7,endLine=8,title=H101 in /)
  assert.match(github.stdout, /\n1 \w+ in 1 file, .*\n$/)
  assert.equal(file.stdout, '')
  assert.match(file.stderr, /^1 \w+ in 1 file, /)
  assert.equal(await readFile(path.join(folder, 'out.sarif'), 'utf8'), sarif.stdout)
})

test('a baseline: recorded findings are known, new ones fail, repaired ones are reported', async (t) => {
  const folder = await project(t, { 'src/a.ts': race })
  const written = await analyze(folder, '--write-baseline')
  assert.equal(written.code, 0)
  assert.match(written.stderr, /Wrote 1 finding to heddle-analyze\.baseline\.json\./)
  const known = await analyze(folder)
  assert.equal(known.code, 0)
  assert.match(known.stdout, /^nothing new \(1 in the baseline\)/)
  const any = await analyze(folder, '--fail-on', 'any')
  assert.equal(any.code, 1)
  assert.match(any.stdout, /\[H101\]/)

  const other = race.replace('connect', 'reconnect')
  await writeFile(path.join(folder, 'src/b.ts'), `// moved down\n${other}`)
  const more = await analyze(folder, '--json')
  assert.equal(more.code, 1)
  assert.deepEqual(
    documentOf(more).findings.map(({ file, state }) => [file, state]),
    [
      ['src/a.ts', 'known'],
      ['src/b.ts', 'new'],
    ],
  )
  await writeFile(path.join(folder, 'src/a.ts'), clean)
  const fixed = await analyze(folder, 'src/a.ts')
  assert.equal(fixed.code, 0)
  assert.match(fixed.stdout, /^fixed: H101 in src\/a\.ts \(Client\.connect\), [0-9a-f]{16}\n/)

  const missing = await analyze(folder, '--baseline', 'none.json')
  assert.equal(missing.code, 2)
  assert.match(
    missing.stderr,
    /The baseline none\.json does not exist\.\n.*\[HDL_BASELINE_INVALID\]/,
  )
})

test('suppressions are accepted with a reason and reported without one', async (t) => {
  const comment = (text: string): string =>
    race.replace('      this.#session =', `      // ${text}\n      this.#session =`)
  const folder = await project(t, {
    'with/a.ts': comment('heddle-ignore H101 -- one caller'),
    'without/a.ts': comment('heddle-ignore H101'),
  })
  const [accepted, refused] = await Promise.all([
    analyze(folder, 'with', '--json'),
    analyze(folder, 'without', '--json'),
  ])
  assert.equal(accepted.code, 0)
  assert.deepEqual(
    documentOf(accepted).suppressed.map(({ reason }) => reason),
    ['one caller'],
  )
  assert.equal(refused.code, 1)
  assert.deepEqual(
    documentOf(refused)
      .findings.map(({ rule }) => rule)
      .toSorted(),
    ['H101', 'S104'],
  )
})

test('settings are found in folders above; flags win; an unknown setting is an error with a suggestion', async (t) => {
  const folder = await project(t, {
    'heddle-analyze.json': '{ "rules": { "H101": "note" }, "include": ["src"] }',
    'src/a.ts': race,
    'other/b.ts': race,
    'bad.json': '{ "exlude": [] }',
  })
  const [quiet, shown, bad] = await Promise.all([
    analyze(path.join(folder, 'src')),
    analyze(folder, '--level', 'note', '--json'),
    analyze(folder, '--config', 'bad.json'),
  ])
  assert.equal(quiet.code, 0)
  assert.match(quiet.stdout, /^no findings \(1 below the level\)/)
  assert.equal(shown.code, 1)
  assert.deepEqual(
    documentOf(shown).findings.map(({ file }) => file),
    ['src/a.ts'],
  )
  assert.equal(bad.code, 2)
  assert.match(bad.stderr, /bad\.json has an unknown key "exlude"\. Did you mean "exclude"\?/)
})

test('guards and models of the settings are used', async (t) => {
  const guarded = `import { withLedger } from './ledger.ts'

let total = 0

export async function add(price: () => Promise<number>): Promise<void> {
  await withLedger(async () => {
    total += await price()
  })
}
`
  const folder = await project(t, {
    'a.ts': guarded,
    'guards.json': '{ "guards": ["withLedger"] }',
    'models.json': '{ "models": ["model.json"] }',
    'model.json': '{ "version": 1 }',
  })
  const [without, known, wrong] = await Promise.all([
    analyze(folder, '--json'),
    analyze(folder, '--json', '--config', 'guards.json'),
    analyze(folder, '--config', 'models.json'),
  ])
  assert.deepEqual(
    documentOf(without).findings.map(({ rule }) => rule),
    ['H501'],
  )
  assert.deepEqual([documentOf(known).findings, known.code], [[], 0])
  assert.equal(wrong.code, 2)
  assert.match(wrong.stderr, /model\.json cannot be used/)
})

test('--inventory: where each part of the program runs, as a document and as data', async (t) => {
  const server = `import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'

createServer((request, response) => {
  response.end(readFileSync('page.html'))
}).listen(8080)
`
  const folder = await project(t, { 'server.ts': server })
  const [text, json, refused] = await Promise.all([
    analyze(folder, '--inventory'),
    analyze(folder, '--inventory', '--json'),
    analyze(folder, '--inventory', '--format', 'sarif'),
  ])
  assert.deepEqual([text.code, json.code, refused.code], [0, 0, 2])
  assert.match(text.stdout, /^# Async boundaries inventory\n/)
  assert.match(
    text.stdout,
    /\| `server\.ts` \| 1 request handler \| [^|]* \| `readFileSync\(\)` \|/,
  )
  const { version, matrix } = JSON.parse(json.lines.at(-1)!) as {
    version: number
    matrix: { component: string }[]
  }
  assert.deepEqual([version, matrix[0]!.component], [1, 'server.ts'])
  assert.match(refused.stderr, /'--inventory' cannot be used with '--format sarif'/)
})

test('from a folder below, paths start there; settings and baseline mean the same', async (t) => {
  const folder = await project(t, {
    'heddle-analyze.json': '{ "exclude": ["lib/old/**"] }',
    'lib/src/a.ts': race,
    'lib/old/b.ts': race,
  })
  const lib = path.join(folder, 'lib')
  const [named, all, written] = await Promise.all([
    analyze(lib, '.', '--json'),
    analyze(lib, '--json'),
    analyze(lib, 'src', '--write-baseline', '--baseline', '../known.json'),
  ])
  assert.deepEqual(
    [named, all].map((each) => documentOf(each).findings.map(({ file }) => file)),
    [['src/a.ts'], ['lib/src/a.ts']],
  )
  assert.equal(written.code, 0)
  const baseline = await readFile(path.join(folder, 'known.json'), 'utf8')
  assert.match(baseline, /"file":"lib\/src\/a\.ts"/)
  await rm(path.join(lib, 'src/a.ts'))
  await writeFile(path.join(lib, 'src/c.ts'), clean)
  const fixed = await analyze(lib, 'src', '--baseline', '../known.json')
  assert.match(fixed.stdout, /^fixed: H101 in src\/a\.ts /)
})

test('--explain: a page, all rules, and a suggestion for a misspelt one', async (t) => {
  const folder = await project(t, {})
  const [page, list, json, unknown] = await Promise.all([
    analyze(folder, '--explain', 'h502'),
    analyze(folder, '--explain'),
    analyze(folder, '--explain', 'H502', '--json'),
    analyze(folder, '--explain', 'H5O2'),
  ])
  assert.match(page.stdout, /^H502 reset-then-fill\n/)
  assert.match(list.stdout, /\n {2}H502 {2}reset-then-fill /)
  const { rules } = JSON.parse(json.stdout) as { rules: { id: string }[] }
  assert.deepEqual(
    rules.map(({ id }) => id),
    ['H502'],
  )
  assert.equal(unknown.code, 2)
  assert.match(unknown.stderr, /There is no rule "H5O2"\. Did you mean "H502"\?/)
})

test('help has examples and exit codes, and loads no analyzer', async (t) => {
  const folder = await project(t, {})
  const { stdout, code } = await analyze(folder, '--help')
  assert.equal(code, 0)
  assert.match(
    stdout,
    /\nExamples:\n {2}\$ heddle analyze src\n[^]*\nExit codes:\n {2}0 [^]* {2}3 /,
  )
})

test('a reader that leaves does not make it fail', async (t) => {
  const folder = await project(t, { 'a.ts': race })
  using program = new Program(['analyze'], { cwd: folder })
  program.process.stdout!.destroy()
  assert.equal(await program.ended(), 1)
  assert.equal(program.stderr, '')
})

test('--watch answers again after every change, and ends with 0', async (t) => {
  const folder = await project(t, { 'src/a.ts': clean })
  using program = new Program(['analyze', '--watch'], { cwd: folder })
  await program.printed(/^no findings in 1 file, /m)
  await writeFile(path.join(folder, 'src/b.ts'), race)
  await program.printed(/\[H101\][^]*--> src\/b\.ts:7:9[^]*\n1 \w+ in 2 files, /)
  await rm(path.join(folder, 'src/b.ts'))
  await program.printed(/1 \w+ in 2 files[^]*no findings in 1 file, /)
  program.process.kill('SIGINT')
  assert.equal(await program.ended(), 0)
  assert.match(program.stderr, /^src\/b\.ts changed\n/)
})

test('options that contradict each other are refused', async (t) => {
  const folder = await project(t, {})
  const cases: [args: string[], error: RegExp][] = [
    [['--watch', '-'], /'--watch' cannot be used with '-'/],
    [
      ['--watch', '--write-baseline'],
      /'-w, --watch' cannot be used with option '--write-baseline'/,
    ],
    [['--json', '--format', 'sarif'], /'--json' cannot be used with '--format sarif'/],
    [['--level', 'fatal'], /Allowed choices are note, warning, error/],
    [['--fail-on', 'old'], /Allowed choices are new, any, never/],
  ]
  const ended = await Promise.all(cases.map(([args]) => analyze(folder, ...args)))
  for (const [i, [args, error]] of cases.entries()) {
    assert.equal(ended[i]!.code, 2, args.join(' '))
    assert.match(ended[i]!.stderr, error)
  }
})

const skip = whyNoTerminal()
const node = `'${process.execPath}' --conditions=heddle-source '${launcher}'`

test(
  'in a terminal there are colours, unless NO_COLOR is set, and nothing is wider than it',
  { skip },
  async (t) => {
    const folder = await project(t, { 'a.ts': race })
    const run = async (env: Record<string, string>): Promise<string> => {
      using pty = new Pty(`${node} analyze --fail-on never; echo "code $?"`, {
        columns: 60,
        rows: 200,
        cwd: folder,
        env: cleanEnv(env),
      })
      await pty.wrote(/code 0/)
      const screen = pty.everything
      assert.match(screen, /\[H101\]/)
      assert.doesNotMatch(screen, /analysing/)
      return pty.raw
    }
    assert.match(await run({}), /\u001b\[31m|\u001b\[33m/)
    const plain = (await run({ NO_COLOR: '1' })).replaceAll('\r\u001b[K', '')
    assert.doesNotMatch(plain, /\u001b\[3\dm/)
  },
)
