import assert from 'node:assert/strict'
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { on, once } from 'node:events'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { after, test } from 'node:test'
import { cleanEnv, fixture, launcher } from '../support/program.ts'
import { Stage } from '../support/stage.ts'

const root = path.resolve(import.meta.dirname, '../../../..')
const folder = mkdtempSync(path.join(os.tmpdir(), 'heddle-launcher-'))
after(() => rmSync(folder, { recursive: true, force: true }))
const windows = process.platform === 'win32' ? 'Windows cannot replace a process' : false

/** Takes process.execve away, as in Node 20: the launcher has to start a child. */
const withoutExecve = path.join(folder, 'without-execve.mjs')
writeFileSync(withoutExecve, 'delete process.execve\n')
const asOld = ['--import', withoutExecve]

function start(
  nodeArgs: readonly string[],
  args: readonly string[],
  env: Record<string, string> = {},
  cwd = folder,
): ChildProcess {
  return spawn(process.execPath, [...nodeArgs, launcher, ...args], {
    cwd,
    env: cleanEnv(env),
    stdio: 'pipe',
  })
}

async function ended(
  child: ChildProcess,
): Promise<{ code: number | string; stdout: string; stderr: string }> {
  let stdout = ''
  let stderr = ''
  child.stdout!.setEncoding('utf8').on('data', (text: string) => (stdout += text))
  child.stderr!.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  const [code, signal] = (await once(child, 'close')) as [number | null, string | null]
  return { code: code ?? signal!, stdout, stderr }
}

/** Waits until it has printed this. */
async function printed(child: ChildProcess, pattern: RegExp): Promise<void> {
  let text = ''
  for await (const [piece] of on(child.stdout!, 'data', { close: ['end'] })) {
    text += String(piece)
    if (pattern.test(text)) return
  }
  throw new Error(`It ended without printing ${String(pattern)}:\n${text}`)
}

for (const [how, nodeArgs] of [
  ['in the same process', []],
  ['in a child', asOld],
] as const) {
  test(
    `B1, B2: from a checkout without a build and without conditions, ${how}: output, arguments, exit codes`,
    { skip: windows },
    async () => {
      const good = await ended(start(nodeArgs, ['run', fixture('mixed.ts'), '--journal', 'memory']))
      assert.equal(good.code, 0, good.stderr)
      assert.match(good.stdout, /3 succeeded/)
      const bad = await ended(
        start(nodeArgs, ['run', fixture('mixed.ts'), '--journal', 'memory', '--', 'fail']),
      )
      assert.equal(bad.code, 1)
      const wrong = await ended(start(nodeArgs, ['rnu']))
      assert.equal(wrong.code, 2)
    },
  )

  test(`B2: signals reach the run, ${how}`, { skip: windows }, async () => {
    await using stage = await Stage.open()
    const child = start(
      nodeArgs,
      ['run', fixture('staged.ts'), '--concurrency', '1', '--', 'a', 'b'],
      stage.env,
      stage.folder,
    )
    const done = ended(child)
    await stage.started('a')
    assert.equal(stage.pidOf('a') === child.pid, how === 'in the same process')
    // A launcher hands the signal on: until it is there, the end of a job would start the next.
    const cancelling = printed(child, /cancelling \(SIGTERM\)/)
    child.kill('SIGTERM')
    await cancelling
    await stage.finish('a')
    assert.equal((await done).code, 130)
    assert.deepEqual(stage.starts, ['a'])
  })

  test(`B3: SIGKILL of the launcher ends the run, ${how}`, { skip: windows }, async () => {
    await using stage = await Stage.open()
    const child = start(nodeArgs, ['run', fixture('staged.ts'), '--', 'a'], stage.env, stage.folder)
    const done = ended(child)
    await stage.started('a')
    const pid = stage.pidOf('a')
    child.kill('SIGKILL')
    await stage.gone(pid)
    assert.equal((await done).code, 'SIGKILL')
  })
}

test(
  'B4: SIGTERM of a shell of npx, which passes nothing on, reaches the run',
  { skip: windows },
  async () => {
    await using stage = await Stage.open()
    // Something follows: else the shell would be replaced by the command.
    const command = `'${process.execPath}' '${launcher}' run '${fixture('staged.ts')}' -- a b:a; :`
    const env = cleanEnv({ ...stage.env, npm_command: 'exec' })
    const child = spawn('sh', ['-c', command], { cwd: stage.folder, env, stdio: 'pipe' })
    await stage.started('a')
    const cancelling = printed(child, /cancelling \(SIGTERM\)/)
    child.kill('SIGTERM')
    await cancelling
    const pid = stage.pidOf('a')
    await stage.finish('a')
    await stage.gone(pid)
    assert.deepEqual(stage.starts, ['a'])
  },
)

test(
  'B2: a signal that ends the child ends the launcher in the same way',
  { skip: windows },
  async () => {
    await using stage = await Stage.open()
    const child = start(asOld, ['run', fixture('staged.ts'), '--', 'a'], stage.env, stage.folder)
    const done = ended(child)
    await stage.started('a')
    process.kill(stage.pidOf('a'), 'SIGKILL')
    assert.equal((await done).code, 'SIGKILL')
  },
)

/** Pretends to be another version: always, or only until the launcher has found a better one. */
function pretend(name: string, when: string): string[] {
  const file = path.join(folder, name)
  const code = `Object.defineProperty(process.versions, 'node', { value: '20.1.0' })`
  writeFileSync(file, `if (${when}) ${code}\n`)
  return ['--import', file]
}

test('an older Node is replaced by the pinned one', { skip: windows }, async () => {
  const old = pretend('old-at-first.mjs', '!process.env.HEDDLE_LAUNCHED')
  for (const more of [[], asOld]) {
    const { code, stdout, stderr } = await ended(start([...old, ...more], ['--version']))
    assert.deepEqual([code, stderr], [0, ''])
    assert.match(stdout, /^\d+\.\d+\.\d+\n$/)
  }
})

test(
  'where no better Node is found, or that one is too old as well, the message names the version to install',
  { skip: windows },
  async () => {
    const old = pretend('old.mjs', 'true')
    const second = await ended(start([...old, ...asOld], ['--version']))
    assert.equal(second.code, 2)
    const alone = path.join(folder, 'alone/bin')
    cpSync(path.dirname(launcher), alone, { recursive: true })
    const args = [...old, path.join(alone, 'heddle.js')]
    const first = spawnSync(process.execPath, args, { encoding: 'utf8', env: cleanEnv() })
    assert.equal(first.status, 2)
    assert.match(first.stderr, /Heddle needs Node 22\.18 or newer; this is Node 20\.1\.0/)
    assert.match(
      second.stderr,
      /Heddle needs Node 24\.11 or newer; this is Node 20\.1\.0/,
      'a checkout',
    )
  },
)

test('B1: an installed package runs its build', async (t) => {
  const built = path.join(root, 'packages/cli/dist/main.js')
  const core = path.join(root, 'packages/core/dist/index.js')
  if (!existsSync(built) || !existsSync(core))
    return t.skip('there is no build: npm run check makes one')
  const modules = path.join(folder, 'project/node_modules')
  for (const [name, source] of [
    ['heddle', 'packages/cli'],
    ['@heddle/core', 'packages/core'],
  ] as const) {
    const target = path.join(modules, name)
    for (const part of ['bin', 'dist', 'package.json']) {
      const from = path.join(root, source, part)
      if (existsSync(from)) cpSync(from, path.join(target, part), { recursive: true })
    }
    const { dependencies = {} } = JSON.parse(
      readFileSync(path.join(target, 'package.json'), 'utf8'),
    ) as { dependencies?: Record<string, string> }
    for (const dependency of Object.keys(dependencies)) {
      if (dependency.startsWith('@heddle/')) continue
      const nested = path.join(root, source, 'node_modules', dependency)
      const found = existsSync(nested) ? nested : path.join(root, 'node_modules', dependency)
      mkdirSync(modules, { recursive: true })
      if (!existsSync(path.join(modules, dependency)))
        symlinkSync(found, path.join(modules, dependency))
    }
  }
  const project = path.join(folder, 'project')
  writeFileSync(path.join(project, 'package.json'), '{ "type": "module" }')
  cpSync(fixture('mixed.ts'), path.join(project, 'mixed.ts'))
  cpSync(fixture('thread-jobs.ts'), path.join(project, 'thread-jobs.ts'))
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [path.join(modules, 'heddle/bin/heddle.js'), 'run', 'mixed.ts'],
    { cwd: project, encoding: 'utf8', env: cleanEnv() },
  )
  assert.equal(status, 0, stderr)
  assert.match(stdout, /3 succeeded/)
})

test('npx finds the command after the install', { skip: windows }, () => {
  const linked = path.join(root, 'node_modules/.bin/heddle')
  const { status, stdout, stderr } = spawnSync(linked, ['--help'], {
    cwd: root,
    encoding: 'utf8',
    env: cleanEnv(),
  })
  assert.equal(status, 0, stderr)
  assert.match(stdout, /Usage: heddle/)
})
