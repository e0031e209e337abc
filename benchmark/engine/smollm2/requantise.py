"""Writes the GGUF file of the first argument as Q8_0 to the second, its vectors and metadata as they are. Needs `gguf`."""
import sys

import numpy as np
from gguf import GGMLQuantizationType, GGUFReader, GGUFValueType, GGUFWriter
from gguf.quants import dequantize, quantize

source, target = sys.argv[1:]
reader = GGUFReader(source)
writer = GGUFWriter(target, reader.get_field("general.architecture").contents())
for field in reader.fields.values():
    if field.name.startswith("GGUF.") or field.name in ("general.architecture", "general.file_type"):
        continue
    kind = field.types[0]
    writer.add_key_value(field.name, field.contents(), kind, field.types[-1] if kind == GGUFValueType.ARRAY else None)
for tensor in reader.tensors:
    if len(tensor.shape) == 1:
        writer.add_tensor(tensor.name, np.array(tensor.data))
    else:
        values = dequantize(tensor.data, tensor.tensor_type)
        writer.add_tensor(
            tensor.name, quantize(values, GGMLQuantizationType.Q8_0), raw_dtype=GGMLQuantizationType.Q8_0
        )
writer.write_header_to_file()
writer.write_kv_data_to_file()
writer.write_tensors_to_file()
writer.close()
