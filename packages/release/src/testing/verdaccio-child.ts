/**
 * Runs verdaccio in a process of its own, and ends with its parent: the channel between them closes
 * when the parent dies, however it dies.
 */
import { rm } from 'node:fs/promises'
import path from 'node:path'
import { runServer } from 'verdaccio'

const configFile = process.argv[2]!

interface Listening {
  listen(port: number, host: string, done: () => void): unknown
  address(): { port: number }
}

process.once('disconnect', () => {
  const leave = (): never => process.exit()
  // The process that started this cannot remove it any more.
  rm(path.dirname(configFile), { recursive: true, force: true }).then(leave, leave)
})
const server = (await runServer(configFile)) as Listening
server.listen(0, '127.0.0.1', () => process.send!({ port: server.address().port }))
