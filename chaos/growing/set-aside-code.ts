/** The code with which a life ends in which nodes were set aside. */
export const setAsideCode = 3
