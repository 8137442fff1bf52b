import { raceTests } from '../support/races.ts'

raceTests('H204', [
  {
    name: 'an entry that another handler removes',
    check: 'rooms.get(id)!',
    race: `const rooms = new Map<string, Room>()
socket.on('join', (id: string) => rooms.set(id, { members: 0 }))
socket.on('message', (id: string) => {
  rooms.get(id)!.members += 1
})
socket.on('leave', (id: string) => rooms.delete(id))
`,
    fixed: `const rooms = new Map<string, Room>()
socket.on('join', (id: string) => rooms.set(id, { members: 0 }))
socket.on('message', (id: string) => {
  const room = rooms.get(id)
  if (room) room.members += 1
})
socket.on('leave', (id: string) => rooms.delete(id))
`,
  },
])
