import assert from 'node:assert/strict'
import os from 'node:os'
import { test } from 'node:test'
import { runProgram, type Program } from './support/program.ts'

const cwd = os.tmpdir()
const run = (...args: string[]): Promise<Program & { readonly code: number | string }> =>
  runProgram(args, { cwd })

test('--help lists every command, --version the version; both end with 0', async () => {
  const help = await run('--help')
  assert.equal(help.code, 0)
  for (const command of ['run', 'runs', 'serve', 'doctor'])
    assert.match(help.stdout, new RegExp(`^ {2}${command} `, 'm'))
  const version = await run('--version')
  assert.deepEqual([version.code, /^\d+\.\d+\.\d+\n$/.test(version.stdout)], [0, true])
})

test('the help and the version load none of our other packages', async () => {
  const hook = `import { registerHooks } from 'node:module'
    registerHooks({ resolve(specifier, context, next) {
      if (specifier.startsWith('@heddle/')) throw new Error('loaded ' + specifier)
      return next(specifier, context)
    } })`
  const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(hook)}` }
  for (const flag of ['--help', '--version']) {
    const { code, stderr } = await runProgram([flag], { cwd, env })
    assert.equal(code, 0, stderr)
  }
})

for (const command of ['run', 'runs list', 'serve', 'doctor', 'init']) {
  test(`${command} --help has an example and the exit codes, and describes --json`, async () => {
    const words = command.split(' ')
    const ways =
      words.length === 1
        ? [
            [command, '--help'],
            ['help', command],
          ]
        : [[...words, '--help']]
    for (const args of ways) {
      const { code, stdout, stderr } = await run(...args)
      assert.equal(code, 0, stderr)
      assert.match(stdout, /Examples?:\n {2}\$ heddle /)
      assert.match(stdout, /Exit codes:\n {2}0 /)
      assert.match(stdout, /--json/)
    }
  })
}

test('no command prints the help and ends with 2', async () => {
  const { code, stderr } = await run()
  assert.equal(code, 2)
  assert.match(stderr, /Usage: heddle/)
})

test('an unknown command or option gets a suggestion and ends with 2', async () => {
  const command = await run('rnu')
  assert.deepEqual([command.code, command.stdout], [2, ''])
  assert.match(command.stderr, /unknown command 'rnu'[^]*Did you mean (one of )?.*run/)
  const option = await run('doctor', '--jsno')
  assert.equal(option.code, 2)
  assert.match(option.stderr, /Did you mean --json\?[^]*heddle doctor --help/)
  const extra = await run('doctor', 'me')
  assert.equal(extra.code, 2)
  assert.match(extra.stderr, /too many arguments/)
})

test('an address that is refused is repeated without its password, also one with a mistyped scheme', async () => {
  for (const args of [
    ['run', 'a.ts', '--journal', 'postgre://u:secret@h/d'],
    ['serve', '--store', 'postgre://u:secret@h/d'],
  ]) {
    const { code, stdout, stderr } = await run(...args)
    assert.equal(code, 2)
    assert.match(stderr, /postgre:\/\/u@h\/d/)
    assert.doesNotMatch(stdout + stderr, /secret/)
  }
})

for (const args of [['users', 'rotate-key'], ['runs', 'retry'], ['serve']]) {
  test(`the description of ${args.join(' ')} is filled to the width of the terminal`, async () => {
    const { stdout } = await runProgram([...args, '--help'], { cwd: os.tmpdir() })
    const [, description] = /^Usage: .*\n\n([^]*?)\n\n/.exec(stdout)!
    const lines = description!.split('\n')
    for (const [index, line] of lines.slice(0, -1).entries()) {
      const [next] = lines[index + 1]!.split(' ')
      assert.ok(line.length <= 80 && line.length + 1 + next!.length > 80, `${line}|${next}`)
    }
  })
}
