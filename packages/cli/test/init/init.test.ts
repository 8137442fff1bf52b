import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test, type TestContext } from 'node:test'
import { promisify } from 'node:util'
import { cleanEnv, runProgram } from '../support/program.ts'

const run = promisify(execFile)
const repository = path.join(import.meta.dirname, '../../../..')

async function emptyFolder(t: TestContext): Promise<string> {
  const folder = await realpath(await mkdtemp(path.join(tmpdir(), 'heddle-init-')))
  t.after(() => rm(folder, { recursive: true, force: true }))
  return folder
}

const manifestOf = async (folder: string): Promise<Record<string, Record<string, string>>> =>
  JSON.parse(await readFile(path.join(folder, 'package.json'), 'utf8'))

test('I2 the generated project works: the graph, the test and the types', async (t) => {
  const cwd = await emptyFolder(t)
  const made = await runProgram(['init', 'my work!', '--service'], { cwd })
  assert.equal(made.code, 0, made.stderr)
  assert.match(made.stdout, /\+ src\/jobs\.ts[^]*\+ Dockerfile[^]*cd 'my work!'\n {2}npm install/)
  const folder = path.join(cwd, 'my work!')
  const manifest = await manifestOf(folder)
  assert.equal(manifest['name'], 'my-work')
  assert.equal(manifest['scripts']!['serve'], 'heddle serve --jobs src/jobs.ts')

  // What `npm install` would bring.
  await symlink(path.join(repository, 'node_modules'), path.join(folder, 'node_modules'))
  const ran = await runProgram(['run', 'src/graph.ts', '--json'], { cwd: folder })
  assert.equal(ran.code, 0, ran.stdout + ran.stderr)
  assert.match(ran.stdout, /"total north"/)
  const node = ['--conditions=heddle-source', '--test', 'test/jobs.test.ts']
  const tested = await run(process.execPath, node, { cwd: folder, env: cleanEnv() })
  assert.match(tested.stdout, /pass 2\n/)
  const tsc = path.join(repository, 'node_modules/typescript/bin/tsc')
  // Sources of the packages are compiled with it: only errors in the project's own files count.
  const types = [tsc, '--customConditions', 'heddle-source']
  const said = await run(process.execPath, types, { cwd: folder }).catch(
    (error: { stdout: string }) => error,
  )
  assert.deepEqual(said.stdout.match(/^(?:src|test)\/.*$/gm), null)
})

test('I1 files that are there stay, and package.json only gains', async (t) => {
  const cwd = await emptyFolder(t)
  const own = { name: 'mine', scripts: { start: 'node own.js' }, license: 'MIT' }
  await writeFile(path.join(cwd, 'package.json'), JSON.stringify(own))
  await mkdir(path.join(cwd, 'src'))
  await writeFile(path.join(cwd, 'src/jobs.ts'), '// mine\n')
  const made = await runProgram(['init'], { cwd })
  assert.equal(made.code, 0, made.stderr)
  assert.match(made.stdout, /= src\/jobs\.ts \(kept as it is\)/)
  assert.equal(await readFile(path.join(cwd, 'src/jobs.ts'), 'utf8'), '// mine\n')
  const { name, license, scripts, dependencies } = await manifestOf(cwd)
  assert.deepEqual([name, license, scripts!['start']], ['mine', 'MIT', 'node own.js'])
  assert.equal(scripts!['check'], 'tsc')
  assert.ok(dependencies!['@heddle/core'])
  const before = await readFile(path.join(cwd, 'package.json'), 'utf8')
  const again = await runProgram(['init'], { cwd })
  assert.equal(again.code, 0)
  assert.doesNotMatch(again.stdout, /\+ /)
  assert.equal(await readFile(path.join(cwd, 'package.json'), 'utf8'), before)
})

test('--json: the written files and the kept ones', async (t) => {
  const cwd = await emptyFolder(t)
  await writeFile(path.join(cwd, '.gitignore'), 'mine\n')
  const made = await runProgram(['init', '--json'], { cwd })
  const { ok, folder, written, kept } = made.objects.at(-1)!
  assert.deepEqual([made.code, ok, folder, kept], [0, true, cwd, ['.gitignore']])
  assert.ok((written as string[]).includes('src/jobs.ts'))
})

test('a package.json that cannot be read is named, and nothing is written', async (t) => {
  const cwd = await emptyFolder(t)
  await writeFile(path.join(cwd, 'package.json'), '{ "name": ')
  const made = await runProgram(['init'], { cwd })
  assert.equal(made.code, 2)
  assert.match(made.stderr, /package\.json is not valid JSON/)
  await assert.rejects(readFile(path.join(cwd, 'src/jobs.ts')))
})
