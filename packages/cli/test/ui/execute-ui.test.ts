import assert from 'node:assert/strict'
import path from 'node:path'
import { test } from 'node:test'
import { Program } from '../support/program.ts'
import { Stage } from '../support/stage.ts'

test('heddle ui serves the dashboard of the default journal and ends with 0 on SIGINT', async () => {
  await using stage = await Stage.open()
  const args = ['ui', '--port', '0', '--json']
  using program = new Program(args, { cwd: stage.folder, env: stage.env })
  const [, url] = await program.printed(/"type":"listening","url":"([^"]+)"/)
  const page = await fetch(url!)
  assert.equal(page.status, 200)
  const [, script] = /src="\.\/(assets\/[^"]+\.js)"/.exec(await page.text())!
  const loaded = await fetch(new URL(script!, url))
  assert.equal(loaded.status, 200)
  assert.ok((await loaded.text()).length > 1_000)
  program.process.kill('SIGINT')
  assert.equal(await program.ended(), 0)
})

test('heddle ui that cannot listen says so and ends with 2', async () => {
  await using stage = await Stage.open()
  using first = new Program(['ui', '--port', '0', '--json'], { cwd: stage.folder, env: stage.env })
  const [, port] = await first.printed(/"url":"http:\/\/127\.0\.0\.1:(\d+)/)
  const args = ['ui', 'sqlite:other.db', '--port', port!]
  using program = new Program(args, { cwd: stage.folder, env: stage.env })
  assert.equal(await program.ended(), 2)
  assert.match(program.stderr, /another program listens there/)
})

test('heddle ui is a window: it opens beside a server on the same file, and a second one beside it', async () => {
  await using stage = await Stage.open()
  const start = (...args: string[]): Program =>
    new Program([...args, '--port', '0', '--json'], { cwd: stage.folder, env: stage.env })
  const jobs = path.join(import.meta.dirname, '../serve/fixtures/served.ts')
  using server = start('serve', '--jobs', jobs, '--store', 'sqlite:shared.db')
  await server.printed(/"type":"listening"/)
  using one = start('ui', 'sqlite:shared.db')
  using two = start('ui', 'sqlite:shared.db')
  for (const window of [one, two]) {
    const [, url] = await window.printed(/"type":"listening","url":"([^"]+)"/)
    const list = await fetch(new URL('/runs', url))
    assert.equal(list.status, 200)
    window.process.kill('SIGINT')
    assert.equal(await window.ended(), 0)
  }
  server.process.kill('SIGTERM')
  assert.equal(await server.ended(), 0)
})
