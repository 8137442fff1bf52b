import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import test from 'node:test'
import { isError } from '../../src/errors.ts'
import { systemRandom } from '../../src/kernel/random.ts'
import { VirtualClock } from '../../src/kernel/virtual-clock.ts'
import { runCommand } from '../../src/processes/command.ts'

const node = (code: string): [string, string[]] => [process.execPath, ['-e', code]]
test('a command that succeeds gives its output', async () => {
  const { stdout, stderr } = await runCommand(...node('console.log("out"); console.error("err")'))
  assert.equal(stdout, 'out\n')
  assert.equal(stderr, 'err\n')
})

test('R1 a command that fails is an error with the end of its output', async () => {
  await assert.rejects(
    runCommand(...node('console.error("403 forbidden"); process.exit(3)')),
    (error) => {
      assert.ok(isError(error, 'HDL_COMMAND_FAILED'))
      assert.match(error.message, /exit code 3/)
      assert.match(error.message, /403 forbidden/)
      return true
    },
  )
})

test('a command that does not exist is an error', async () => {
  await assert.rejects(runCommand('no-such-command-here', []), (error) =>
    isError(error, 'HDL_COMMAND_FAILED'),
  )
})

test('a command that cannot be started for want of file handles is an error', async () => {
  const module = JSON.stringify(new URL('../../src/processes/command.ts', import.meta.url).href)
  const code = `
    import { closeSync, openSync } from 'node:fs'
    import { runCommand } from ${module}
    await runCommand(process.execPath, ['--version'])
    const open = []
    try { for (;;) open.push(openSync('/dev/null')) } catch {}
    const failed = runCommand(process.execPath, ['--version'])
    const error = await failed.catch((reason) => reason)
    for (const handle of open) closeSync(handle)
    console.log(error.code, error.message)`
  const limited = 'ulimit -n 64 && exec "$0" --no-warnings --input-type=module -e "$1"'
  const { stdout } = await runCommand('/bin/sh', ['-c', limited, process.execPath, code])
  assert.match(stdout, /^HDL_COMMAND_FAILED .*EMFILE/)
})

test('a command whose arguments the system refuses is a Heddle error', async () => {
  const failed = runCommand(process.execPath, ['-e', '', 'x'.repeat(4 * 2 ** 20)])
  await assert.rejects(failed, (error) => {
    assert.ok(isError(error, 'HDL_COMMAND_FAILED'))
    assert.ok(error.message.length < 1_000)
    return true
  })
})

test('R3 an abort ends the whole process group, and the promise settles only when it is gone', async () => {
  const controller = new AbortController()
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  // The grandchild holds the command's output open, so the promise cannot settle before it is gone.
  const grandchild = `require('node:net').connect(${port}, '127.0.0.1').on('error', () => {}); setInterval(() => {}, 1000)`
  const parent = `
    require('node:child_process').spawn(process.execPath, ['-e', ${JSON.stringify(grandchild)}], { stdio: 'inherit' })
    setInterval(() => {}, 1000)`
  const running = runCommand(...node(parent), { signal: controller.signal })
  running.catch(() => undefined)
  const [socket] = (await once(server, 'connection')) as [Socket]
  socket.on('error', () => undefined)
  socket.resume()
  const gone = once(socket, 'close')
  controller.abort(new Error('timed out'))
  await assert.rejects(running, (error) => isError(error, 'HDL_CANCELLED'))
  await gone
  server.close()
})

test('a command that ignores SIGTERM is killed after the grace', async () => {
  const controller = new AbortController()
  const timers: (() => void)[] = []
  const clock = {
    now: () => 0,
    wallTime: () => 0,
    afterIo: setImmediate,
    setTimer: (_: number, callback: () => void) => {
      timers.push(callback)
      return { cancel: () => undefined }
    },
  }
  const running = runCommand(
    ...node('process.on("SIGTERM", () => {}); setInterval(() => {}, 1000)'),
    { signal: controller.signal, kernel: { clock, random: { next: () => 0 } } },
  )
  controller.abort()
  assert.equal(timers.length, 1)
  timers[0]!()
  await assert.rejects(running, (error) => isError(error, 'HDL_CANCELLED'))
})

test('a process that was left behind and holds the output open does not hold up the command', async () => {
  const daemon = 'process.send("there"); setTimeout(() => {}, 60_000)'
  // In a group of its own, so that nothing of ours ends it: the test does.
  const parent = `
    const options = { stdio: ['ignore', 1, 2, 'ipc'], detached: true }
    const daemon = require('node:child_process').spawn(process.execPath, ['-e', ${JSON.stringify(daemon)}], options)
    daemon.once('message', () => {
      console.log(daemon.pid)
      daemon.disconnect()
      daemon.unref()
    })`
  const { stdout } = await runCommand(...node(parent), { grace: 50 })
  const pid = Number(stdout)
  assert.ok(pid > 0)
  process.kill(pid, 'SIGKILL')
})

test('a command that was ended by a signal says so', async () => {
  await assert.rejects(runCommand(...node('process.kill(process.pid, "SIGKILL")')), {
    code: 'HDL_COMMAND_FAILED',
    message: /failed: ended by SIGKILL$/,
  })
})

test('a command that outlives its deadline is ended, and says how long it had', async () => {
  const clock = new VirtualClock()
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const running = runCommand(
    ...node(`require('node:net').connect(${port}, '127.0.0.1').on('error', () => {})`),
    { deadline: 1_000, kernel: { clock, random: systemRandom } },
  )
  running.catch(() => undefined)
  const [socket] = (await once(server, 'connection')) as [Socket]
  socket.on('error', () => undefined)
  await clock.advance(1_000)
  await assert.rejects(
    running,
    (error) => isError(error, 'HDL_TIMEOUT') && /1,?000/.test(error.message),
  )
  assert.equal(clock.pending, 0)
  socket.destroy()
  server.close()
})

test('a command reads its input, and one that does not read it is not failed by it', async () => {
  const input = 'line\n'.repeat(100_000)
  const count = `let n = 0; process.stdin.on('data', (piece) => (n += piece.length)).on('end', () => console.log(n))`
  const { stdout } = await runCommand(...node(count), { input })
  assert.equal(Number(stdout), input.length)
  const { stdout: said } = await runCommand(...node('console.log("no"); process.exit(0)'), {
    input,
  })
  assert.equal(said, 'no\n')
})
