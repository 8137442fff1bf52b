import assert from 'node:assert/strict'
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
