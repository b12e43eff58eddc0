// Everything public.
#pragma once

#include "quern/buffer.h"
#include "quern/device.h"
#include "quern/dtype.h"
#include "quern/error.h"
#include "quern/graph.h"
#include "quern/graph_builder.h"
#include "quern/kv_store.h"
#include "quern/layout.h"
#include "quern/model_options.h"
#include "quern/op.h"
#include "quern/shape.h"
#include "quern/tensor.h"
#include "quern/weight_source.h"
