import { raceTests } from '../support/races.ts'

raceTests('H312', [
  {
    name: 'a socket that is stored after close() has found none',
    check: 'await dial',
    act: 'this.socket = ',
    race: `export class Client {
  socket: Socket | undefined
  async connect() {
    const address = await dial(this.host)
    this.socket = open(address)
  }
  close() {
    if (this.socket) this.socket.destroy()
  }
}
`,
    fixed: `export class Client {
  socket: Socket | undefined
  closed = false
  async connect() {
    const address = await dial(this.host)
    if (this.closed) return
    this.socket = open(address)
  }
  close() {
    this.closed = true
    if (this.socket) this.socket.destroy()
  }
}
`,
  },
])
