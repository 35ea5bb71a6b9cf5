import Type from 'typebox';

export const ProblemSchema = Type.Object({
  type: Type.String({ description: 'Link to the explanation of the code.' }),
  title: Type.String({ description: 'Short description. It is always the same for a given code.' }),
  status: Type.Integer({ description: 'HTTP status.' }),
  detail: Type.String({ description: 'What went wrong in this request.' }),
  instance: Type.String({ description: 'Request path.' }),
  code: Type.String({ description: 'Error code. Programs can rely on it: its meaning never changes.' }),
  request_id: Type.String({ description: 'Request ID, as in `X-Request-Id`.' }),
  errors: Type.Optional(
    Type.Array(
      Type.Object(
        {
          parameter: Type.Optional(Type.String({ description: 'Name of the query parameter or header.' })),
          pointer: Type.Optional(Type.String({ description: 'JSON pointer to the place in the body.' })),
          code: Type.String({ description: 'Code of this error.' }),
          detail: Type.String({ description: 'What is wrong.' }),
        },
        { title: 'InputError' },
      ),
      { description: 'Everything that is wrong with the input.' },
    ),
  ),
  possible_moves: Type.Optional(
    Type.Array(Type.String(), {
      description: 'Only for `move_not_allowed`: the moves that are allowed.',
      examples: [['pause', 'close']],
    }),
  ),
  cell: Type.Optional(
    Type.String({
      description: 'Only for `wrong_cell`: the name of the cell to use instead.',
      examples: ['eu2'],
    }),
  ),
});
