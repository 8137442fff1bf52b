import { raceTests } from '../support/races.ts'

raceTests('H304', [
  {
    name: 'a connection that is entered after the handshake',
    extension: 'js',
    check: 'handshake',
    act: 'this.peers.add',
    race: `class Hub {
  constructor() {
    this.peers = new Set()
  }
  accept(socket) {
    handshake(socket).then((peer) => {
      this.peers.add(peer)
    })
  }
  close() {
    this.peers.forEach((peer) => peer.destroy())
  }
}
module.exports = Hub
`,
    fixed: `class Hub {
  constructor() {
    this.peers = new Set()
  }
  accept(socket) {
    this.peers.add(socket)
    handshake(socket).catch(() => this.peers.delete(socket))
  }
  close() {
    this.peers.forEach((peer) => peer.destroy())
  }
}
module.exports = Hub
`,
  },
])
